/** The rules and the report of a run: what it did, and how it ended. Its record in `_sync.runs` is declared in `run-record`. */
import type { ExitCode } from '../base/errors.js'
import type { Instant } from './instant.js'
import type { RequestUsage, TASK_REASONS } from './request-usage.js'
import type { LISTING_KINDS, ReportedFields, RUN_COMMANDS, RunRecord } from './run-record.js'
import type { Drift } from './survey-source.js'
import type { PlanLine } from './tables.js'

/** The rules for finding changes (settings `discover`). */
export interface DiscoverRules {
  /** By how much the next cursor lags the server's clock, ms. */
  readonly overlap: number
  /** A full listing runs if the last one is older, ms. */
  readonly full_listing_every: number
}

/** Settings `refresh.daily_windows`. */
export interface DailyWindows {
  /** The number of days, including today, that every reading reads again. An older day is read once more, and is then final. */
  readonly days: number
  /** IANA name of the time zone of the days. */
  readonly time_zone: string
  /** Read the days of each sample source as well. */
  readonly sources: boolean
}

/** The rules for reading a survey's sources and progress again, and in which order (settings `refresh`). */
export interface RefreshRules {
  /** The longest wait of an inactive survey for its next reading, ms. */
  readonly max_age: number
  /** The factor for the time since the last refresh, by the survey's status. */
  readonly weights: RefreshWeights
  /** The progress of the sources of an active survey is read again after this time (ms), even if nothing shows a change; 0 = with every reading. */
  readonly recheck_sources_after: number
  /** Read the interviews of single days as well; null = no. */
  readonly daily_windows: DailyWindows | null
  /** Read the progress of a survey as of the days before it was first read. */
  readonly reconstruct: boolean
}

/** Surveys that no run reads (settings `accounts[].exclude`): by status, id, and project. */
export interface ExcludeRules {
  readonly status: readonly string[]
  readonly surveys: readonly number[]
  readonly projects: readonly string[]
}

export interface RefreshWeights {
  readonly fieldwork: number
  /** Any other active status, also an unknown one. */
  readonly active: number
  readonly other: number
}

/** How much history is kept (settings `history`). */
export interface HistoryRules {
  /** Progress older than this (ms) keeps one observation per day; null = every observation stays. */
  readonly progress_keep_all_for: number | null
}

/** The limits at which a run stops before its work is done: a number of requests, and ms; null = no limit. */
export interface Budget {
  readonly requests_max: number | null
  readonly duration_max: number | null
}

export type ListingKind = (typeof LISTING_KINDS)[number]

export type TaskReason = (typeof TASK_REASONS)[number]

export interface RowCounts {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
}

export const NO_ROWS: RowCounts = Object.freeze({ added: 0, changed: 0, unchanged: 0 })

export const addCounts = (a: RowCounts, b: RowCounts): RowCounts => ({
  added: a.added + b.added,
  changed: a.changed + b.changed,
  unchanged: a.unchanged + b.unchanged,
})

/** The counts by table: the four tables of the API's resources, and the table of days if days are read. */
export type RowCountsByTable = Readonly<Record<string, RowCounts>>

/** complete = 0, partial = 3, failed = any other exit code. */
export type RunStatus = 'complete' | 'partial' | 'failed'

/** A difference from the API document in an answer of this run. */
export interface MetDrift extends Omit<Drift, 'resource'> {
  readonly resource: string
  /** Number of occurrences, and the first one (server time), in this run and earlier ones. */
  readonly occurrences: number
  readonly firstSeenAt: Instant
  /** Whether it is new in this run. */
  readonly isNew: boolean
}

/** Rows of one endpoint that could not be typed for one reason. */
export interface RejectionReason {
  readonly endpoint: string
  readonly problem: string
  readonly rows: number
}

/** Surveys that are queued because they could not be read. */
interface FailingSurveys {
  readonly failing: number
  /** Some of them, most failures first. */
  readonly failingSurveys: readonly {
    readonly surveyId: number
    /** Null before a listing has shown it. */
    readonly title: string | null
    /** Consecutive runs in which it failed. */
    readonly attempts: number
    /** Why it failed last, one line. */
    readonly error: string
  }[]
}

/** Rejected rows and drift of a run: the numbers, and the first of each. */
export type DataProblems = Pick<RunReport, 'rejectedRows' | 'driftEvents' | 'drift' | 'rejections'>

/** The surveys and sources that the lists leave out. */
export type LeftOut = Pick<RunReport, 'surveysLeftOut' | 'surveysUnconfirmed' | 'sourcesLeftOut'> & {
  /** The number of surveys whose lists leave out sources, and the first of these surveys; null without any. */
  readonly surveysWithLeftOut: number
  readonly firstWithLeftOut: number | null
}

/** The facts that the warehouse knows about a run at its end. */
export type RunFacts = Pick<RunReport, 'leftOver'> & FailingSurveys & DataProblems & LeftOut

export type RunCommand = (typeof RUN_COMMANDS)[number]

/** The result of a replay for a quarantined row. `outdated`: not written, because the survey was read again since or is gone. */
export const REPLAY_RESULTS = ['merged', 'queued', 'outdated'] as const
export type ReplayResult = (typeof REPLAY_RESULTS)[number]

/** The report of a run for one account: its record (`model/run-record`), with some fields narrowed, and the details. */
export interface RunReport extends ReportedFields, FailingSurveys {
  readonly command: RunCommand
  readonly status: RunStatus
  readonly exitCode: ExitCode
  /** Whether something failed. A budget or a signal that ended the run is no failure. */
  readonly hasFailures: boolean
  readonly listing: ListingKind | null
  /** Distance between requests at the end, milliseconds, if the API refused bursts; null if they went in bursts. */
  readonly paceIntervalMs: number | null
  /** Requests by kind and reason, sent and saved. */
  readonly requestUsage: readonly RequestUsage[]
  readonly drift: readonly MetDrift[]
  /** The most frequent reasons of rejected rows. */
  readonly rejections: readonly RejectionReason[]
  readonly rowsByTable: RowCountsByTable
  /** The quarantined rows of a replay by result; `waiting` still cannot be typed. Null for a sync. */
  readonly replayed: Readonly<Record<ReplayResult | 'waiting', number>> | null
}

/** The record of a run at its start. */
export type RunStart = Pick<RunReport, 'runId' | 'command' | 'startedAt'> & Pick<RunRecord, 'version'>

/** The result of a publisher. */
export interface PublishReport {
  /** One of `PUBLISH_FORMATS`. */
  readonly format: string
  /** The path that readers open. */
  readonly path: string
  readonly bytes: number
}

/** The plan of surveys and projects (setting `plan`), read before a run. */
export interface PlanFile {
  readonly path: string
  /** Null if no line can be read. */
  readonly rows: readonly PlanLine[] | null
  readonly rejectedLines: number
  /** Why the first rejected lines were rejected, or why the file as a whole cannot be read. */
  readonly problems: readonly string[]
}

/** What a run did with the plan. */
export interface PlanReport extends Pick<PlanFile, 'rejectedLines' | 'problems'> {
  readonly file: string
  /** The number of stored lines: from the file, or from an earlier run if no line of the file can be read. */
  readonly stored: number
  /** The number of stored lines about what the API does not show. */
  readonly unknown: number
  /** Whether the stored lines come from an earlier run. */
  readonly isKept: boolean
}

/** A whole run of the command, with the worst exit code of its accounts. */
export interface SyncReport {
  readonly exitCode: ExitCode
  readonly status: RunStatus
  readonly accounts: readonly RunReport[]
  readonly published: readonly PublishReport[]
  /** Why nothing, or not everything, was published; null if everything was. */
  readonly publishError: string | null
  /** The plan of a sync; null without the setting. */
  readonly plan?: PlanReport | null
}

/** Observes a run, as the progress bar does. Every number is a total so far. */
export interface RunObserver {
  /** Nothing is requested yet: the run waits for `what`, at most for `forMs` milliseconds. */
  waiting(event: { what: string; forMs: number }): void
  /** A listing page was committed. `pages` is the API's total_pages. */
  listed(event: { account: string; page: number; pages: number; surveys: number }): void
  /** Surveys refreshed (or failed) so far, and surveys still to do. */
  refreshed(event: { account: string; done: number; left: number; requestsLeft: number }): void
  /** The run of this account has ended; runs of other accounts may continue. */
  ended(event: { account: string; status: RunStatus }): void
  publishing(event: { format: string }): void
}
