/**
 * Any sequence of listings, refreshes, gone surveys and failures, at any time of the server's clock: the tables hold the same
 * as a plain map of these events, every key once, and an unbroken history.
 */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Instant } from '../../../src/model/instant.js'
import { ALL_TABLES } from '../../../src/model/sync-tables.js'
import type { AccountWarehouse, BundleOutcome } from '../../../src/model/warehouse.js'
import { accountWarehouse } from '../../../src/warehouse/account-warehouse.js'
import { SLOW } from '../../support/suite/slow.js'
import { minute } from '../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../support/warehouse/warehouse.js'

/** Many surveys in few events, because each survey has its own sequence. */
const SURVEY_IDS = [1, 2, 3, 4, 5, 6]
const SOURCE_IDS = [1, 2, 3]
const VARIANTS = 2

/** The records of an answer: the variant of its values, by id. */
type Read = ReadonlyMap<number, number>
interface Bundle {
  readonly kind: 'refreshed'
  readonly surveyId: number
  readonly sources: Read
  readonly progress: number | null
  readonly sourceProgressRead: boolean
  readonly idsReadable: boolean
}
type Outcome =
  | Bundle
  | { readonly kind: 'gone'; readonly surveyId: number }
  | { readonly kind: 'failed'; readonly surveyId: number }
  | { readonly kind: 'oversized'; readonly surveyId: number }
type Event = { readonly afterMinutes: number } & (
  | { readonly kind: 'listing'; readonly full: boolean; readonly surveys: Read }
  | { readonly kind: 'bundles'; readonly outcomes: readonly Outcome[] }
)

const variant = fc.nat({ max: VARIANTS })
const surveyId = fc.constantFrom(...SURVEY_IDS)
const readOf = (ids: readonly number[]): fc.Arbitrary<Read> =>
  fc
    .uniqueArray(fc.tuple(fc.constantFrom(...ids), variant), { selector: ([id]) => id })
    .map((entries) => new Map(entries))
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('refreshed' as const),
      surveyId,
      sources: readOf(SOURCE_IDS),
      progress: fc.option(variant, { freq: 5 }),
      sourceProgressRead: fc.boolean(),
      idsReadable: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('gone' as const), surveyId }) },
  fc.record({ kind: fc.constant('failed' as const), surveyId }),
  fc.record({ kind: fc.constant('oversized' as const), surveyId }),
)
const event: fc.Arbitrary<Event> = fc
  .tuple(
    // The server's clock stands still, moves on, or goes back.
    fc.constantFrom(0, 0, 1, 7, -3),
    fc.oneof(
      fc.record({ kind: fc.constant('listing' as const), full: fc.boolean(), surveys: readOf(SURVEY_IDS) }),
      fc.record({
        kind: fc.constant('bundles' as const),
        outcomes: fc.uniqueArray(outcome, {
          minLength: 1,
          maxLength: SURVEY_IDS.length,
          selector: ({ surveyId }) => surveyId,
        }),
      }),
    ),
  )
  .map(([afterMinutes, what]) => ({ afterMinutes, ...what }))

/** One table as a map: the newest variant of each record, whether it is missing, and how many versions it has. */
class Records {
  readonly rows = new Map<string, { variant: number; missing: boolean; versions: number }>()

  put(key: string, variantRead: number): void {
    const row = this.rows.get(key)
    if (row === undefined) this.rows.set(key, { variant: variantRead, missing: false, versions: 1 })
    else if (row.missing || row.variant !== variantRead)
      this.rows.set(key, { variant: variantRead, missing: false, versions: row.versions + 1 })
  }

  shows(key: string, variantRead: number): boolean {
    const row = this.rows.get(key)
    return row !== undefined && !row.missing && row.variant === variantRead
  }

  miss(isGone: (key: string) => boolean): void {
    for (const [key, row] of this.rows) if (isGone(key)) row.missing = true
  }
}

class Oracle {
  readonly surveys = new Records()
  readonly sources = new Records()
  readonly progress = new Records()
  readonly sourceProgress = new Records()
  readonly pending = new Map<string, number>()
  readonly queued = new Set<string>()
  private readonly refreshed = new Set<string>()

  apply(what: Event): void {
    if (what.kind === 'bundles') for (const one of what.outcomes) this.settle(one)
    else this.listing(what.surveys, what.full)
  }

  private listing(surveys: Read, full: boolean): void {
    for (const [surveyId, seen] of surveys) {
      const key = String(surveyId)
      const newest = this.pending.get(key)
      const isChange = newest === undefined ? !this.surveys.shows(key, seen) : newest !== seen
      if (isChange) this.queued.add(key)
      this.pending.delete(key)
      if (this.surveys.shows(key, seen)) continue
      if (this.refreshed.has(key) && this.surveys.rows.has(key)) this.pending.set(key, seen)
      else this.surveys.put(key, seen)
    }
    if (!full) return
    for (const [key, row] of this.surveys.rows)
      if (!row.missing && !surveys.has(Number(key))) this.queued.add(key)
  }

  private settle(one: Outcome): void {
    if (one.kind === 'failed' || one.kind === 'oversized') return
    const key = String(one.surveyId)
    const waiting = this.pending.get(key)
    if (waiting !== undefined) this.surveys.put(key, waiting)
    this.pending.delete(key)
    this.queued.delete(key)
    this.refreshed.add(key)
    if (one.kind === 'refreshed') this.merge(key, one)
    else
      for (const table of [this.surveys, this.sources, this.progress, this.sourceProgress])
        table.miss((other) => other === key || other.startsWith(`${key}/`))
  }

  private merge(key: string, read: Bundle): void {
    if (read.progress !== null) this.progress.put(key, read.progress)
    for (const [sourceId, seen] of read.sources) {
      this.sources.put(`${key}/${sourceId}`, seen)
      if (read.sourceProgressRead) this.sourceProgress.put(`${key}/${sourceId}`, seen)
    }
    if (!read.idsReadable) return
    const isUnlisted = (other: string) =>
      other.startsWith(`${key}/`) && !read.sources.has(Number(other.slice(key.length + 1)))
    this.sources.miss(isUnlisted)
    this.sourceProgress.miss(isUnlisted)
  }
}

const outcomeOf = (one: Outcome, at: Instant): BundleOutcome => {
  const { surveyId } = one
  if (one.kind === 'gone') return { kind: 'gone', surveyId, at }
  if (one.kind === 'failed')
    return { kind: 'failed', surveyId, at, error: 'answered 500', isRefused: false, mayBeGone: false }
  if (one.kind === 'oversized') return { kind: 'oversized', surveyId, at, requestsNeeded: 9 }
  const sources = [...one.sources].map(([sourceId, seen]) => source(sourceId, { name: `v${seen}` }))
  return bundle(surveyId, at, sources, one.progress === null ? null : progress(one.progress), {
    ...(one.idsReadable ? {} : { listedSourceIds: null }),
    sourceProgress: one.sourceProgressRead
      ? [...one.sources].map(([sourceId, seen]) => ({
          sampleSourceId: sourceId,
          progress: progress(seen),
          at,
        }))
      : [],
  })
}

const play = async (warehouse: AccountWarehouse, events: readonly Event[]): Promise<Oracle> => {
  const oracle = new Oracle()
  let at = minute(0)
  for (const what of events) {
    at += minute(what.afterMinutes) - minute(0)
    if (what.kind === 'bundles')
      await warehouse.commitBundles(
        what.outcomes.map((one) => outcomeOf(one, at)),
        RUN,
      )
    else {
      const surveys = [...what.surveys].map(([surveyId, seen]) => survey(surveyId, { title: `v${seen}` }))
      await list(warehouse, surveys, at, what.full ? 'full' : 'incremental')
    }
    oracle.apply(what)
  }
  return oracle
}

/** For each table, the SQL of the oracle's key and of the variant. */
const KEYS_AND_VARIANTS = [
  ['surveys', "id || ''", 'title'],
  ['sample_sources', "survey_id || '/' || id", 'name'],
  ['survey_progress', "survey_id || ''", "'v' || interviews_count"],
  ['sample_source_progress', "survey_id || '/' || sample_source_id", "'v' || interviews_count"],
] as const

const storedRecords = ({ rows }: TestWarehouse, account: string) => {
  const own = `WHERE account = '${account}'`
  const records = KEYS_AND_VARIANTS.map(
    ([table, key, value]) => `SELECT '${table}' AS "table", ${key} AS key, ${value} AS value,
        _missing_since IS NOT NULL AS missing, versions
      FROM ${table}
      LEFT JOIN (SELECT ${key} AS version_of, count(*) AS versions FROM ${table}_history ${own} GROUP BY ALL)
        ON version_of = ${key} ${own}`,
  )
  const waiting = [
    `SELECT 'tasks', survey_id || '', NULL, NULL, NULL FROM _sync.tasks ${own}`,
    `SELECT 'pending', id || '', title, NULL, NULL FROM _sync.pending_surveys ${own}`,
  ]
  return rows([...records, ...waiting].join(' UNION ALL ').concat(' ORDER BY ALL'))
}

const expectedRecords = (oracle: Oracle) => {
  const records = [
    ['surveys', oracle.surveys],
    ['sample_sources', oracle.sources],
    ['survey_progress', oracle.progress],
    ['sample_source_progress', oracle.sourceProgress],
  ] as const
  const nothing = { missing: null, versions: null }
  return [
    ...records.flatMap(([table, { rows }]) =>
      [...rows].map(([key, row]) => ({
        table,
        key,
        value: `v${row.variant}`,
        missing: row.missing,
        versions: row.versions,
      })),
    ),
    ...[...oracle.queued].map((key) => ({ table: 'tasks', key, value: null, ...nothing })),
    ...[...oracle.pending].map(([key, seen]) => ({ table: 'pending', key, value: `v${seen}`, ...nothing })),
  ].sort((a, b) => (`${a.table} ${a.key}` < `${b.table} ${b.key}` ? -1 : 1))
}

const DUPLICATES = ALL_TABLES.filter(({ key }) => key.length > 0)
  .map(
    ({ schema, name, key }) =>
      `SELECT '${name}' AS "table" FROM ${schema}.${name} GROUP BY ${key.join(', ')} HAVING count(*) > 1`,
  )
  .join(' UNION ALL ')

/**
 * Versions that end before they begin, or overlap the previous version. Also last versions that are open although the record is
 * missing, or that have ended although it is not.
 */
const BROKEN_HISTORY = [
  ['surveys', 'id'],
  ['sample_sources', 'survey_id, id'],
]
  .map(
    ([table, key]) => `SELECT '${table}' AS "table" FROM (
      SELECT *, lag(valid_to) OVER versions AS ended_before, lag(valid_from) OVER versions AS began_before,
        lead(valid_from) OVER versions IS NULL AS is_last,
      FROM ${table}_history WINDOW versions AS (PARTITION BY account, ${key} ORDER BY valid_from)) h
      JOIN ${table} t USING (account, ${key})
      WHERE valid_to <= valid_from OR valid_from <= began_before OR ended_before > valid_from
        OR (began_before IS NOT NULL AND ended_before IS NULL)
        OR (is_last AND (valid_to IS NULL) = (t._missing_since IS NOT NULL))
        OR (is_last AND valid_from <> t._synced_at) OR (is_last AND valid_to <> t._missing_since)`,
  )
  .join(' UNION ALL ')

test('the tables hold the same as a plain map, every key once, with an unbroken history', {
  timeout: 300_000,
}, async () => {
  const warehouse = await testWarehouse()
  let accounts = 0
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 9, size: 'max' }), async (events) => {
      accounts += 1
      const account = `account ${accounts}`
      const oracle = await play(accountWarehouse(warehouse.database, account), events)
      expect(await storedRecords(warehouse, account)).toEqual(expectedRecords(oracle))
    }),
    { numRuns: SLOW ? 200 : 10 },
  )
  await warehouse.expectRows(DUPLICATES, [])
  await warehouse.expectRows(BROKEN_HISTORY, [])
})
