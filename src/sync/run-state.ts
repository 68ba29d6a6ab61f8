/** What a run has done so far. The steps add to it; the report is made from it, however the run ends. */
import type { ExitCode } from '../base/errors.js'
import type { Instant } from '../model/instant.js'
import type { ListingKind, RowCounts, RowCountsByTable } from '../model/run.js'
import { type RunCounters, zeroCounters } from '../model/run-record.js'
import { createUsageBook, type UsageBook } from './budget/request-usage.js'

/** `complete`: the cursor moved. `interrupted`: the next run goes on. `drifted`: rows may be missing, the cursor stays. */
export type Discovery = 'complete' | 'interrupted' | 'drifted'

export interface RunState {
  listing: ListingKind | null
  /** Null when the listing did not come to an end of any kind. */
  discovery: Discovery | null
  /** Why the run was stopped before its end: a signal or a budget. */
  stopped: string | null
  /** What ended it otherwise. */
  ended: { readonly exitCode: ExitCode; readonly message: string } | null
  readonly counts: RunCounters
  readonly requestUsage: UsageBook
  /** The latest time that the server told: the "now" of every rule in this run. */
  serverTime: Instant | null
  rows: { -readonly [Table in keyof RowCountsByTable]: RowCountsByTable[Table] }
}

export const createRunState = (): RunState => ({
  listing: null,
  discovery: null,
  stopped: null,
  ended: null,
  counts: zeroCounters(),
  requestUsage: createUsageBook(),
  serverTime: null,
  rows: {
    surveys: NONE,
    sample_sources: NONE,
    survey_progress: NONE,
    sample_source_progress: NONE,
  },
})

export const addRows = (state: RunState, rows: Partial<RowCountsByTable>): void => {
  for (const table of TABLES) state.rows[table] = sum(state.rows[table], rows[table] ?? NONE)
  const days = rows.survey_progress_by_day
  if (days !== undefined)
    state.rows.survey_progress_by_day = sum(state.rows.survey_progress_by_day ?? NONE, days)
}

export const sawServerTime = (state: RunState, at: Instant): void => {
  if (state.serverTime === null || at > state.serverTime) state.serverTime = at
}

const NONE: RowCounts = Object.freeze({ added: 0, changed: 0, unchanged: 0 })
const TABLES = ['surveys', 'sample_sources', 'survey_progress', 'sample_source_progress'] as const

const sum = (a: RowCounts, b: RowCounts): RowCounts => ({
  added: a.added + b.added,
  changed: a.changed + b.changed,
  unchanged: a.unchanged + b.unchanged,
})
