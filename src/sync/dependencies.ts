/** The dependencies of a run: ports, a clock and a log, but no HTTP and no SQL. */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Budget, DiscoverRules, HistoryRules, RefreshRules, RunObserver } from '../model/run.js'
import type { SurveySource } from '../model/survey-source.js'
import type { AccountWarehouse } from '../model/warehouse.js'
import type { Allocation } from './budget/request-budget.js'

export interface RunDependencies {
  readonly source: SurveySource
  readonly warehouse: AccountWarehouse
  readonly clock: Clock
  readonly log: Log
  readonly observer: RunObserver
  /** Aborts with a `StoppedError` that says why. */
  readonly signal: AbortSignal
  readonly rules: RunRules
  /** The account's allocation of `--max-requests`; all of it unless several accounts divide it. */
  readonly requests?: Allocation
  readonly runId: string
  /** Version of this program, for the run record. */
  readonly version: string
}

export interface RunRules {
  readonly discover: DiscoverRules
  readonly refresh: RefreshRules
  readonly history: HistoryRules
  readonly budget: Budget
  /** With `contract: freeze`, a run that meets an unknown field or enum value fails. */
  readonly contract: 'evolve' | 'freeze'
  readonly limits: {
    /** A run that quarantines more rows than this fails. */
    readonly rejectedRowsMax: number
    /** A run stops when this many tasks in a row have failed. */
    readonly consecutiveFailuresMax: number
  }
  /** List all surveys, whatever the cursor. */
  readonly full: boolean
}
