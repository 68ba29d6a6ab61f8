/**
 * A run as it is reported: its rules, what it did, how it ended. `sync` fills the report, `warehouse` stores its record in
 * `_sync.runs` (`run-record`), `commands` print it for people and for machines.
 */
import type { ExitCode } from '../base/errors.js'
import type { DailyWindows } from './daily-windows.js'
import type { Instant } from './instant.js'
import type { RequestUsage, TASK_REASONS } from './request-usage.js'
import type { LISTING_KINDS, ReportedFields, RUN_COMMANDS, RunRecord } from './run-record.js'
import type { DriftKind } from './survey-source.js'

/** What the discovery of changes goes by (design §4; settings `discover`). */
export interface DiscoverRules {
  /** How far behind the server's clock the next cursor is set. */
  readonly overlapMs: number
  /** A full listing runs when the last one is older than this. */
  readonly fullListingEveryMs: number
}

/** What decides whether a survey's sources and progress are read again, and in which order (settings `refresh`). */
export interface RefreshRules {
  /** A complete survey is refreshed in every run for this long after its last change; after that it rests longer and longer. */
  readonly settleForMs: number
  /** The longest that it rests. */
  readonly maxAgeMs: number
  readonly weights: RefreshWeights
  /** The list of a survey's sources is read again when it was last read longer ago than this, or something says that it changed. */
  readonly listSourcesEveryMs: number
  /** Skip the requests per source when the sources and the survey's progress equal what is stored. */
  readonly skipUnchanged: boolean
  /** Read the progress of every source again when that was last done longer ago than this. */
  readonly recheckUnchangedAfterMs: number
  /** Read the interviews of single days as well; null = no. */
  readonly dailyWindows: DailyWindows | null
}

/** What the time since the last refresh is multiplied by, by the survey's status (settings `refresh.weights`). */
export interface RefreshWeights {
  readonly fieldwork: number
  /** Any other active status, also an unknown one. */
  readonly active: number
  readonly other: number
}

/** How much of the past is kept (settings `history`). */
export interface HistoryRules {
  /** Of progress observed longer ago than this, one observation a day stays; null = every observation stays. */
  readonly progressKeepAllForMs: number | null
}

/** When a run has to stop before its work is done; null = no limit. */
export interface Budget {
  readonly requestsMax: number | null
  readonly durationMsMax: number | null
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

/** By the name of the table: the four of the API's resources, and the table of days only where days are read. */
export type RowCountsByTable = Readonly<Record<string, RowCounts>>

/** complete = 0, partial = 3, failed = any other exit code. */
export type RunStatus = 'complete' | 'partial' | 'failed'

/** Where an answer that a run met differs from the API document. */
export interface MetDrift {
  readonly resource: string
  readonly kind: DriftKind
  readonly path: string
  readonly value: string | null
  /** How often it was met so far, and since when (server time), in this run and those before. */
  readonly occurrences: number
  readonly firstSeenAt: Instant
  /** Whether no run before has met it. */
  readonly isNew: boolean
}

/** Rows of one endpoint that could not be typed for one reason. */
export interface RejectionReason {
  readonly endpoint: string
  readonly problem: string
  readonly rows: number
}

/** Surveys that are queued because they could not be read. */
export interface FailingSurveys {
  readonly failing: number
  /** The first of them, those that failed most often first. */
  readonly failingSurveys: readonly FailingSurvey[]
}

export interface FailingSurvey {
  readonly surveyId: number
  /** Null where no listing has shown it yet. */
  readonly title: string | null
  /** How often it was tried and failed, one run after the other. */
  readonly attempts: number
  /** Why it failed last, one line. */
  readonly error: string
}

/** What did not fit in a run: the numbers, and the first of what they count. */
export type DataProblems = Pick<RunReport, 'rejectedRows' | 'driftEvents' | 'drift' | 'rejections'>

export type RunCommand = (typeof RUN_COMMANDS)[number]

/** What a replay makes of a quarantined row. `outdated`: not written, for the survey was read again since, or has gone. */
export const REPLAY_RESULTS = ['merged', 'queued', 'outdated'] as const
export type ReplayResult = (typeof REPLAY_RESULTS)[number]

/** What a replay did: rows of the quarantine by what became of them. */
export interface ReplayCounts extends Readonly<Record<ReplayResult, number>> {
  /** Still cannot be typed. */
  readonly waiting: number
}

/** What a run did for one account: its record (`model/run-record`), some fields of it narrower, and what explains them. */
export interface RunReport extends ReportedFields, FailingSurveys {
  readonly command: RunCommand
  readonly status: RunStatus
  readonly exitCode: ExitCode
  readonly listing: ListingKind | null
  /** Distance of requests at the end, milliseconds, where the API has refused bursts; null where they went in bursts. */
  readonly paceIntervalMs: number | null
  /** Where the requests went, and which were saved. */
  readonly requestUsage: readonly RequestUsage[]
  /** The first of the drift events, so that nobody has to look them up. */
  readonly drift: readonly MetDrift[]
  /** Why rows were rejected, the most frequent reasons first; not all of them where there are many. */
  readonly rejections: readonly RejectionReason[]
  readonly rowsByTable: RowCountsByTable
  /** Null for a sync. */
  readonly replayed: ReplayCounts | null
}

/** What is recorded when a run starts. */
export type RunStart = Pick<RunReport, 'runId' | 'command' | 'startedAt'> & Pick<RunRecord, 'version'>

/** What a publisher did. */
export interface PublishReport {
  /** One of `PUBLISH_FORMATS`. */
  readonly format: string
  /** Path of what readers open. */
  readonly path: string
  readonly bytes: number
}

/** A whole run of the command: its accounts, what was published, and the worst exit code of all. */
export interface SyncReport {
  readonly exitCode: ExitCode
  readonly status: RunStatus
  readonly accounts: readonly RunReport[]
  readonly published: readonly PublishReport[]
  /** Why nothing, or not everything, was published; null when it was. */
  readonly publishError: string | null
}

/** Watches a run as it goes; the progress bar is one. Every number is a total so far. */
export interface RunObserver {
  /** A listing page was committed. `pages` is the API's total_pages. */
  listed(event: { account: string; page: number; pages: number; surveys: number }): void
  /** Surveys refreshed (or failed) so far, and surveys still to do. */
  refreshed(event: { account: string; done: number; left: number; requestsLeft: number }): void
  /** The run of this account is over; those of others may go on. */
  ended(event: { account: string; status: RunStatus }): void
  publishing(event: { format: string }): void
}
