/**
 * The port to the work database, as the run sees it: one account's tables, cursor and queue. Every method that
 * writes is one transaction, so that a kill between any two calls leaves a state from which a run can go on.
 */
import type { Cell } from './columns.js'
import type { DailyWindows, DueDay, StoredDays } from './daily-windows.js'
import type { Progress, SampleSource, Survey } from './fields.js'
import type { Instant } from './instant.js'
import type { Cursor, PastRuns, PlannedSurvey } from './plan-facts.js'
import type { QuarantinedRow, ReplayedBatch, RetypedRow, WaitingRows } from './replay.js'
import type {
  DataProblems,
  FailingSurveys,
  ListingKind,
  PublishReport,
  RowCounts,
  RowCountsByTable,
  RunReport,
  RunStart,
  TaskReason,
} from './run.js'
import type { Drift, ReadExtent, Rejection } from './survey-source.js'

export interface AccountWarehouse {
  readonly account: string
  /** Marks a run as begun, and runs that ended without a word as killed. */
  startRun(run: RunStart): Promise<void>
  finishRun(report: RunReport): Promise<void>

  position(): Promise<Position>
  /** Begins a listing and forgets one that was under way. */
  startListing(start: ListingStart): Promise<void>
  /** How many distinct surveys the listing has seen, counting this page. */
  countListed(page: ListedRows): Promise<number>
  commitListingPage(page: ListingPage): Promise<ListingPageResult>
  /** Forgets the listing that is under way, so that the next run begins afresh. */
  dropListing(): Promise<void>

  /** Every survey with what the queue and a plan depend on. `dailyWindows`: the days that the settings ask for. */
  plannedSurveys(dailyWindows: DailyWindows | null): Promise<readonly PlannedSurvey[]>
  pastRuns(overlapMs: number): Promise<PastRuns>
  enqueue(tasks: readonly NewTask[], at: Stamp): Promise<void>
  hasTasks(): Promise<boolean>
  countTasks(): Promise<number>
  /** Queued surveys whose last attempt failed: how many, and the first of them. */
  failingSurveys(): Promise<FailingSurveys>
  storedBundle(surveyId: number): Promise<StoredBundle>
  /** What is stored of a survey's days. */
  storedDays(surveyId: number): Promise<StoredDays>
  /** Leaves one observation a UTC day, its last, of the progress observed before `before`; tells how many rows went. */
  compactProgress(before: Instant, at: Stamp): Promise<number>
  /** Rows in quarantine, and unknown fields and values met, by this run. */
  dataProblems(runId: string): Promise<DataProblems>
  /** Rows in quarantine that were not replayed, by the time at which they were read, in batches. */
  quarantined(): AsyncIterable<readonly QuarantinedRow[]>
  /** Marks the rows as replayed at `at`, our clock, and merges or queues what they tell, unless newer is known. */
  commitReplay(rows: readonly RetypedRow[], replay: Stamp): Promise<ReplayedBatch>
  waitingRows(): Promise<WaitingRows>
  commitBundles(outcomes: readonly BundleOutcome[], runId: string): Promise<RowCountsByTable>
}

/** Something that turns the committed state into what readers open. */
export interface Publisher {
  /** One of `PUBLISH_FORMATS`. */
  readonly format: string
  /**
   * Rejects with the signal's reason as soon as it aborts and what readers have is not replaced yet: that is then
   * untouched, and nothing is left behind. After that the signal changes nothing.
   */
  publish(signal: AbortSignal): Promise<PublishReport>
}

export type CellRow = Readonly<Record<string, Cell>>

/** Which run does something, and the server's time at which it does. */
export interface Stamp {
  readonly runId: string
  readonly at: Instant
}

/** Where the account's discovery stands. */
export interface Position extends Cursor {
  /** A listing that an interruption left half done. */
  readonly listing: ListingState | null
}

export interface ListingStart {
  readonly kind: ListingKind
  readonly updatedSince: Instant | null
  /** What the cursor becomes when the listing is complete. */
  readonly ceiling: Instant
  /** Our clock. */
  readonly startedAt: Instant
}

export interface ListingState extends ListingStart {
  readonly nextPage: number
  /** Of the last page read. */
  readonly totalCount: number
  /** Of the first page read; null where an older version began the listing. */
  readonly firstTotalCount: number | null
}

/** What a page of a listing showed. */
export interface ListedRows {
  /** Number of the page: one that is read again counts once. */
  readonly page: number
  readonly surveys: readonly Survey[]
  readonly rejections: readonly Rejection[]
}

export interface ListingPage extends Stamp, ListedRows {
  readonly drift: readonly Drift[]
  readonly totalCount: number
  /** The page to be read next; null completes the listing: the cursor moves to its ceiling. */
  readonly nextPage: number | null
  /** Our clock; when the listing completes, it dates the cursor. */
  readonly committedAt: Instant
}

export interface ListingPageResult {
  readonly rows: RowCounts
  /** Surveys that were queued because they are new or differ from what is stored. */
  readonly queued: number
  /** Surveys that a complete full listing did not show: queued, to be asked for by their own address. */
  readonly notListed: number
}

export interface NewTask {
  readonly surveyId: number
  readonly reason: TaskReason
}

/** What is stored of a survey: to tell whether the requests per source can be skipped. */
export interface StoredBundle {
  /** Sources that are not missing. */
  readonly sources: readonly CellRow[]
  readonly progress: CellRow | null
  /** Sources whose progress is stored. */
  readonly sourcesWithProgress: readonly number[]
  /** Interviews of any status in their progress, all together. */
  readonly sourceInterviews: number
  /** When the list of sources was last read, each of them typed; null = never. */
  readonly sourcesReadAt: Instant | null
  readonly sourceProgressReadAt: Instant | null
}

export type BundleOutcome = RefreshedBundle | GoneSurvey | FailedTask | OversizedTask

interface OutcomeOfSurvey {
  readonly surveyId: number
  /** When the survey's progress was read, server time. */
  readonly at: Instant
}

/** Sources and progress of one survey, read together. */
export interface RefreshedBundle extends OutcomeOfSurvey {
  readonly kind: 'refreshed'
  /** What the API refused of it; null when it refused nothing. After a refusal the task stays queued. */
  readonly refused: PartlyRefused | null
  /** `none`: they are known to be the stored ones, and `sources` is empty; `some` when one of them could not be typed. */
  readonly sourcesRead: ReadExtent
  readonly sources: readonly SampleSource[]
  /** Every source that was listed, also where its row was rejected; null when that cannot be known. */
  readonly listedSourceIds: readonly number[] | null
  /** Null when it was rejected. */
  readonly progress: Progress | null
  readonly sourceProgress: readonly {
    readonly sampleSourceId: number
    readonly progress: Progress
    readonly at: Instant
  }[]
  /**
   * Of which sources the progress was read: `none` when the requests were skipped because nothing had changed, `some` when
   * a progress could not be typed. After `some` nothing may be skipped until all have been read.
   */
  readonly sourceProgressRead: ReadExtent
  /** Left out where the settings do not ask for days. */
  readonly days?: ReadDays
  readonly rejections: readonly Rejection[]
  readonly drift: readonly Drift[]
}

export interface PartlyRefused {
  /** Each refusal, one line in all. */
  readonly error: string
  /** The survey's own progress was refused. What is stored of it stays, and a row that waits for it goes on waiting. */
  readonly isProgressRefused: boolean
}

export interface ReadDays {
  /** Of the whole survey. */
  readonly read: ReadExtent
  /** Of its sources; `some` where the settings do not ask for their days. */
  readonly sourcesRead: ReadExtent
  readonly timeZone: string
  readonly rows: readonly DayRow[]
}

export interface DayRow {
  /** Null: of the whole survey. */
  readonly sampleSourceId: number | null
  readonly day: DueDay
  readonly progress: Progress
  readonly at: Instant
}

/** A complete listing of all surveys did not show the survey, and both its own addresses answered 404. */
export interface GoneSurvey extends OutcomeOfSurvey {
  readonly kind: 'gone'
}

/** Nothing of it was read; it stays queued. */
export interface FailedTask extends OutcomeOfSurvey {
  readonly kind: 'failed'
  readonly error: string
  /** The API refused all that was asked of it: 404, 401, 403 or another status that means no. */
  readonly isRefused: boolean
  /** It may have gone: the next listing is a full one, to find out. */
  readonly mayBeGone: boolean
}

/** A budget stopped it; it stays queued, with what it was found to need. */
export interface OversizedTask extends OutcomeOfSurvey {
  readonly kind: 'oversized'
  readonly requestsNeeded: number
}
