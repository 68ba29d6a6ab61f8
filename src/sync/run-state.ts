/** The progress of a run so far. Each step adds to it. The report is made from it, however the run ends. */
import type { ExitCode } from '../base/errors.js'
import type { Instant } from '../model/instant.js'
import { addCounts, type ListingKind, NO_ROWS, type RowCounts, type RowCountsByTable } from '../model/run.js'
import { type RunCounters, zeroCounters } from '../model/run-record.js'
import { DATA_TABLES } from '../model/tables.js'
import { createUsageBook, type UsageBook } from './budget/request-usage.js'

/** `complete`: the cursor moved. `interrupted`: the next run continues. `drifted`: rows may be missing, the cursor stays. */
export type Discovery = 'complete' | 'interrupted' | 'drifted'

export interface RunState {
  listing: ListingKind | null
  /** Null if an error ended the listing. */
  discovery: Discovery | null
  /** What the list of surveys repeats, if that and not drift left the cursor where it was; null otherwise. */
  repeated: string | null
  /** Why a signal or a budget stopped the run; null otherwise. */
  stopped: string | null
  /** The error that ended the run; null otherwise. */
  ended: { readonly exitCode: ExitCode; readonly message: string } | null
  readonly counts: RunCounters
  readonly requestUsage: UsageBook
  /** The latest server time. It is "now" for every rule in this run. */
  serverTime: Instant | null
  readonly rows: Record<string, RowCounts>
}

export const createRunState = (): RunState => ({
  listing: null,
  discovery: null,
  repeated: null,
  stopped: null,
  ended: null,
  counts: zeroCounters(),
  requestUsage: createUsageBook(),
  serverTime: null,
  rows: Object.fromEntries(DATA_TABLES.map(({ name }) => [name, NO_ROWS])),
})

export const addRows = (state: RunState, rows: RowCountsByTable): void => {
  for (const [table, counts] of Object.entries(rows))
    state.rows[table] = addCounts(state.rows[table] ?? NO_ROWS, counts)
}

export const sawServerTime = (state: RunState, at: Instant): void => {
  if (state.serverTime === null || at > state.serverTime) state.serverTime = at
}
