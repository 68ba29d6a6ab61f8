/**
 * The record of sent digests, `_sync.digests` and `_sync.digest_items`, by channel, because one channel may fail while another delivers. A
 * row of `needs_action` is sent once, and again only if it disappeared in between.
 */
import { z } from 'zod'
import { driftName } from '../../model/data-problem-names.js'
import type { Instant } from '../../model/instant.js'
import type { Digest, DigestChannel, DigestItem, DigestTargets } from '../../model/monitoring.js'
import { DRIFT_KINDS } from '../../model/survey-source.js'
import { digestItems, digests, driftEvents, runs } from '../../model/sync-tables.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { IN_FIELD } from '../views/statuses.js'
import { FIELD_GAINS } from './gains.js'

const itemRow = z.object({
  account: varcharCell,
  surveyId: bigintCell,
  hashid: varcharCell,
  kind: varcharCell,
  urgency: bigintCell,
  title: varcharCell,
  projectId: varcharCell.nullable(),
  text: varcharCell,
})
const SELECT_ITEMS = `SELECT a.account, a.survey_id AS "surveyId", s.hashid, a.kind, a.urgency, a.title, a.project_id AS "projectId", a.text
  FROM main.needs_action a JOIN main.surveys s ON s.account = a.account AND s.id = a.survey_id
  ORDER BY a.urgency, a.due_on NULLS LAST, a.account, a.survey_id, a.kind`

const totalsRow = z.object({
  newestAt: timestamptzCell.nullable(),
  inField: bigintCell,
  interviews: bigintCell.nullable(),
  interviewDays: bigintCell.nullable(),
})
const NEWEST = '(SELECT max(greatest(listed_at, refreshed_at)) FROM main.freshness)'
/** The totals as in the report. */
const SELECT_TOTALS = `SELECT ${NEWEST} AS "newestAt",
    (SELECT count(*) FROM main.active_survey_pace WHERE status IN ${IN_FIELD}) AS "inField",
    newest_gain AS interviews, newest_gain_days AS "interviewDays"
  FROM (${FIELD_GAINS})`

const accountRow = z.object({ account: varcharCell })
const SELECT_ACCOUNTS = 'SELECT DISTINCT account FROM main.surveys ORDER BY account'
const channelRow = accountRow.extend({ channel: varcharCell })
/** `run`: the number of the run of the last digest, 0 if none was delivered. */
const begunRow = channelRow.extend({ run: bigintCell })
const SELECT_BEGUN = `SELECT d.channel, d.account, coalesce(r.run_number, 0) AS run
  FROM ${qualified(digests)} d LEFT JOIN ${qualified(runs)} r ON r.run_id = d.last_run_id AND r.account = d.account`
const driftRow = accountRow.extend({
  resource: varcharCell,
  kind: z.enum(DRIFT_KINDS),
  path: varcharCell,
  value: varcharCell.nullable(),
  run: bigintCell,
  isOfThisRun: booleanCell,
})
const SELECT_DRIFT = `SELECT e.account, e.resource, e.kind, e.path, e.value, coalesce(r.run_number, 0) AS run, e.first_run_id = $1 AS "isOfThisRun"
  FROM ${qualified(driftEvents)} e LEFT JOIN ${qualified(runs)} r ON r.run_id = e.first_run_id AND r.account = e.account
  ORDER BY e.account, e.resource, e.path, e.value, e.kind`
const toldRow = channelRow.extend({ surveyId: bigintCell, kind: varcharCell })
const SELECT_TOLD = `SELECT channel, account, survey_id AS "surveyId", kind FROM ${qualified(digestItems)}`

/** The news of one channel. */
export interface News {
  readonly channel: DigestChannel
  readonly digest: Omit<Digest, 'heading' | 'reportUrl' | 'surveyUrl'>
  /** The newest reading of any account. */
  readonly newestAt: Instant | null
  /** Accounts without a digest so far. */
  readonly firstTime: readonly string[]
  /** Rows that are only remembered, and not sent. */
  readonly silent: readonly DigestItem[]
  /** Rows that were sent before and no longer exist. */
  readonly gone: readonly Key[]
}

type Key = Pick<DigestItem, 'account' | 'surveyId' | 'kind'>

const keyOf = ({ account, surveyId, kind }: Key): string => `${account}/${surveyId}/${kind}`

/** The news of each channel, after the run `runId`. Call it in a transaction, so that all rows are of one state. */
export const readNews = async (
  sql: Sql,
  channels: readonly DigestChannel[],
  { runId, first }: { readonly runId: string } & Pick<DigestTargets, 'first'>,
): Promise<readonly News[]> => {
  const all = await sql.rows(itemRow, SELECT_ITEMS)
  const accounts = (await sql.rows(accountRow, SELECT_ACCOUNTS)).map(({ account }) => account)
  const begun = await sql.rows(begunRow, SELECT_BEGUN)
  const told = await sql.rows(toldRow, SELECT_TOLD)
  const drift = await sql.rows(driftRow, SELECT_DRIFT, [runId])
  const [totals = NO_TOTALS] = await sql.rows(totalsRow, SELECT_TOTALS)
  const { newestAt, ...counts } = totals
  const surveys = new Set(all.map(({ account, surveyId }) => `${account}/${surveyId}`)).size
  const current = new Set(all.map(keyOf))
  return channels.map((channel) => {
    const lastRun = new Map(begun.flatMap((row) => (row.channel === channel ? [[row.account, row.run]] : [])))
    const isSilent = ({ account }: Pick<Key, 'account'>) => first === 'silent' && !lastRun.has(account)
    const known = told.filter((row) => row.channel === channel)
    const isKnown = new Set(known.map(keyOf))
    const untold = all.filter((item) => !isKnown.has(keyOf(item)))
    const isNew = ({ account, run, isOfThisRun }: z.output<typeof driftRow>) =>
      run > (lastRun.get(account) ?? Number.POSITIVE_INFINITY) || isOfThisRun
    const newDrift = drift.filter((row) => isNew(row) && !isSilent(row))
    return {
      channel,
      newestAt,
      digest: {
        items: untold.filter((item) => !isSilent(item)),
        drift: accounts.flatMap((account) => {
          const names = newDrift.flatMap((row) => (row.account === account ? [driftName(row)] : []))
          return names.length === 0 ? [] : [{ account, names }]
        }),
        ...{ surveys, ...counts, hasAccounts: accounts.length > 1 },
      },
      firstTime: accounts.filter((account) => !lastRun.has(account)),
      silent: untold.filter(isSilent),
      gone: known.filter((row) => !current.has(keyOf(row))),
    }
  })
}

const NO_TOTALS = { newestAt: null, inField: 0, interviews: null, interviewDays: null }

/** Stores the sent rows, and removes the rows that are gone. Call it in a transaction. */
export const rememberNews = async (
  sql: Sql,
  { channel, firstTime, silent, gone, digest }: News,
  { isTold, runId, at }: { readonly isTold: boolean; readonly runId: string; readonly at: Instant },
): Promise<void> => {
  const rowOf = ({ account, surveyId, kind }: Key) => ({ channel, account, survey_id: surveyId, kind })
  if (gone.length > 0) {
    await sql.stage('gone_items', digestItems.columns, gone.map(rowOf))
    await sql.run(`DELETE FROM ${qualified(digestItems)} AS i USING temp.gone_items g WHERE ${OF_ITEM}`)
    await sql.run('DROP TABLE temp.gone_items')
  }
  const last_run_id = isTold ? runId : null
  await sql.insert(
    digests,
    firstTime.map((account) => ({ channel, account, since: at, last_run_id })),
  )
  if (isTold)
    await sql.run(`UPDATE ${qualified(digests)} SET last_run_id = $1 WHERE channel = $2`, [runId, channel])
  const items = isTold ? [...silent, ...digest.items] : silent
  await sql.insert(
    digestItems,
    items.map((item) => ({ ...rowOf(item), last_run_id: runId })),
  )
}

const OF_ITEM = digestItems.key.map((column) => `i.${column} = g.${column}`).join(' AND ')
