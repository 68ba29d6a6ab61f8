/** What a run has done so far. The steps add to it; the report is made from it, however the run ends. */
import type { ExitCode } from '../base/errors.js'
import type { Instant } from '../model/instant.js'
import { addCounts, type ListingKind, NO_ROWS, type RowCounts, type RowCountsByTable } from '../model/run.js'
import { noCounts, type RunCounts } from '../model/run-record.js'
import { DATA_TABLES } from '../model/tables.js'
import { createSpendingBook, type SpendingBook } from './budget/spending.js'

/** `complete`: the cursor moved. `interrupted`: the next run goes on. `drifted`: rows may be missing, the cursor stays. */
export type Discovery = 'complete' | 'interrupted' | 'drifted'

export interface Tally {
  listing: ListingKind | null
  /** Null when the listing did not come to an end of any kind. */
  discovery: Discovery | null
  /** Why the run was stopped before its end: a signal or a budget. */
  stopped: string | null
  /** What ended it otherwise. */
  ended: { readonly exitCode: ExitCode; readonly message: string } | null
  readonly counts: RunCounts
  readonly spending: SpendingBook
  /** The latest time that the server told: the "now" of every rule in this run. */
  serverTime: Instant | null
  readonly rows: Record<string, RowCounts>
}

export const createTally = (): Tally => ({
  listing: null,
  discovery: null,
  stopped: null,
  ended: null,
  counts: noCounts(),
  spending: createSpendingBook(),
  serverTime: null,
  rows: Object.fromEntries(DATA_TABLES.map(({ name }) => [name, NO_ROWS])),
})

export const addRows = (tally: Tally, rows: RowCountsByTable): void => {
  for (const [table, counts] of Object.entries(rows))
    tally.rows[table] = addCounts(tally.rows[table] ?? NO_ROWS, counts)
}

export const sawServerTime = (tally: Tally, at: Instant): void => {
  if (tally.serverTime === null || at > tally.serverTime) tally.serverTime = at
}
