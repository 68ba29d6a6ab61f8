/**
 * The record of sent digests, `_sync.digests` and `_sync.digest_items`, by channel, because one channel may fail while another delivers. A
 * row of `needs_action` is sent once, and again only if it disappeared in between.
 */
import { z } from 'zod'
import type { Instant } from '../../model/instant.js'
import type { Digest, DigestChannel, DigestItem } from '../../model/monitoring.js'
import { digestItems, digests } from '../../model/sync-tables.js'
import { bigintCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { IN_FIELD } from '../views/needs-action-rules.js'
import { hoursBefore } from './days.js'

const itemRow = z.object({
  account: varcharCell,
  surveyId: bigintCell,
  kind: varcharCell,
  urgency: bigintCell,
  title: varcharCell,
  projectId: varcharCell.nullable(),
  text: varcharCell,
})
const SELECT_ITEMS = `SELECT account, survey_id AS "surveyId", kind, urgency, title, project_id AS "projectId", text
  FROM main.needs_action ORDER BY urgency, due_on NULLS LAST, account, survey_id, kind`

const totalsRow = z.object({ inField: bigintCell, interviews: z.number().nullable() })
/** The totals as in the report: a survey that the last run did not reach has no interviews of the last day. */
const SELECT_TOTALS = `SELECT count(*) AS "inField", CAST(sum(p.gained_last_day)
    FILTER (epoch_us(p.refreshed_at) >= ${hoursBefore('n.newest_at', 24)}) AS DOUBLE) AS interviews
  FROM main.survey_pace p
  JOIN (SELECT account, max(greatest(listed_at, refreshed_at)) AS newest_at FROM main.freshness GROUP BY account) n USING (account)
  WHERE p.status IN ${IN_FIELD}`

const accountRow = z.object({ account: varcharCell })
const SELECT_ACCOUNTS = 'SELECT DISTINCT account FROM main.surveys ORDER BY account'
const begunRow = accountRow.extend({ channel: varcharCell })
const SELECT_BEGUN = `SELECT channel, account FROM ${qualified(digests)}`
const toldRow = begunRow.extend({ surveyId: bigintCell, kind: varcharCell })
const SELECT_TOLD = `SELECT channel, account, survey_id AS "surveyId", kind FROM ${qualified(digestItems)}`

/** The news of one channel. */
export interface News {
  readonly channel: DigestChannel
  readonly digest: Omit<Digest, 'reportUrl'>
  /** Accounts without a digest so far. Their present rows are only remembered, and not sent. */
  readonly firstTime: readonly string[]
  readonly silent: readonly DigestItem[]
  /** Rows that were sent before and no longer exist. */
  readonly gone: readonly Key[]
}

type Key = Pick<DigestItem, 'account' | 'surveyId' | 'kind'>

const keyOf = ({ account, surveyId, kind }: Key): string => `${account}/${surveyId}/${kind}`

/** The news of each channel. Call it in a transaction, so that all rows are of one state. */
export const readNews = async (sql: Sql, channels: readonly DigestChannel[]): Promise<readonly News[]> => {
  const all = await sql.rows(itemRow, SELECT_ITEMS)
  const accounts = (await sql.rows(accountRow, SELECT_ACCOUNTS)).map(({ account }) => account)
  const begun = await sql.rows(begunRow, SELECT_BEGUN)
  const told = await sql.rows(toldRow, SELECT_TOLD)
  const [totals = { inField: 0, interviews: null }] = await sql.rows(totalsRow, SELECT_TOTALS)
  const surveys = new Set(all.map(({ account, surveyId }) => `${account}/${surveyId}`)).size
  const current = new Set(all.map(keyOf))
  return channels.map((channel) => {
    const isBegun = new Set(begun.flatMap((row) => (row.channel === channel ? [row.account] : [])))
    const known = told.filter((row) => row.channel === channel)
    const isKnown = new Set(known.map(keyOf))
    const untold = all.filter((item) => !isKnown.has(keyOf(item)))
    const items = untold.filter(({ account }) => isBegun.has(account))
    return {
      channel,
      digest: { items, surveys, ...totals, hasAccounts: accounts.length > 1 },
      firstTime: accounts.filter((account) => !isBegun.has(account)),
      silent: untold.filter(({ account }) => !isBegun.has(account)),
      gone: known.filter((row) => !current.has(keyOf(row))),
    }
  })
}

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
  await sql.insert(
    digests,
    firstTime.map((account) => ({ channel, account, since: at })),
  )
  const items = isTold ? [...silent, ...digest.items] : silent
  await sql.insert(
    digestItems,
    items.map((item) => ({ ...rowOf(item), last_run_id: runId })),
  )
}

const OF_ITEM = digestItems.key.map((column) => `i.${column} = g.${column}`).join(' AND ')
