/** The dependencies of a run, and its state so far. */
import type { Clock } from '../base/clock.js'
import type { ExitCode } from '../base/errors.js'
import type { Log } from '../base/log.js'
import type { Instant } from '../model/instant.js'
import type {
  Budget,
  DiscoverRules,
  ExcludeRules,
  HistoryRules,
  ListingKind,
  RefreshRules,
} from '../model/run.js'
import { addCounts, NO_ROWS, type RowCounts, type RowCountsByTable, type RunObserver } from '../model/run.js'
import { type RunCounters, zeroCounters } from '../model/run-record.js'
import type { SurveySource } from '../model/survey-source.js'
import { DATA_TABLES } from '../model/tables.js'
import type { AccountWarehouse } from '../model/warehouse.js'
import type { RunBudget } from './budget.js'
import { type RequestCounter, UsageBook } from './requests.js'

export interface RunDependencies {
  readonly source: SurveySource
  readonly warehouse: AccountWarehouse
  readonly clock: Clock
  readonly log: Log
  readonly observer: RunObserver
  /** Aborts with a `StoppedError` that says why. */
  readonly signal: AbortSignal
  readonly rules: RunRules
  /**
   * With these ids of surveys, the run lists nothing, and reads exactly these surveys
   * (docs/decisions/queue-and-refresh.md#0085-some-surveys-now-and-some-not-at-all).
   */
  readonly only?: readonly number[] | undefined
  /** The counter of all accounts of the run; by default the account's own. */
  readonly requests?: RequestCounter
  readonly runId: string
  readonly version: string
}

/** The run of one account: its dependencies, and its state so far. */
export interface Run extends RunDependencies {
  readonly budget: RunBudget
  readonly state: RunState
}

export interface RunRules {
  readonly discover: DiscoverRules
  readonly refresh: RefreshRules
  /** The exclude rules of the account; by default none. */
  readonly exclude?: ExcludeRules | undefined
  readonly history: HistoryRules
  readonly budget: Budget
  /** With `contract: freeze`, a run that meets an unknown field or enum value fails. */
  readonly contract: 'evolve' | 'freeze'
  readonly limits: {
    /** A run that quarantines more rows than this fails. */
    readonly rejected_rows_max: number
    /** A run stops when this many tasks in a row have failed. */
    readonly consecutive_failures_max: number
    /** If a survey has more sources, only its own progress is read. */
    readonly sources_per_survey_max: number
  }
  readonly full: boolean
}

/** `complete`: the cursor moved. `interrupted`: the next run continues. `drifted`: rows may be missing, the cursor stays. */
export type Discovery = 'complete' | 'interrupted' | 'drifted'

export interface RunState {
  listing: ListingKind | null
  /** Null if an error ended the listing. */
  discovery: Discovery | null
  /** What the list of surveys repeats, if a repetition, and not drift, kept the cursor from moving; null otherwise. */
  repeated: string | null
  /** Why a signal or a budget stopped the run; null otherwise. */
  stopped: string | null
  /** The error that ended the run; null otherwise. */
  ended: { readonly exitCode: ExitCode; readonly code: string; readonly message: string } | null
  readonly counts: RunCounters
  readonly requestUsage: UsageBook
  /** The server time of the run's first answer. */
  begunAt: Instant | null
  /** The latest server time, which is "now" for every rule in this run. */
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
  requestUsage: new UsageBook(),
  begunAt: null,
  serverTime: null,
  rows: Object.fromEntries(DATA_TABLES.map(({ name }) => [name, NO_ROWS])),
})

export const addRows = (state: RunState, rows: RowCountsByTable): void => {
  for (const [table, counts] of Object.entries(rows))
    state.rows[table] = addCounts(state.rows[table] ?? NO_ROWS, counts)
}

export const sawServerTime = (state: RunState, at: Instant): void => {
  state.begunAt ??= at
  if (state.serverTime === null || at > state.serverTime) state.serverTime = at
}
