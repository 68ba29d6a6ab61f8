/**
 * The port to the work database: the tables, cursor and queue of one account. Every method that writes is one transaction, so that a
 * run can continue after a kill between any two calls.
 */
import type { KeptAnswer } from '../base/allowance.js'
import { WarehouseError } from '../base/errors.js'
import type { Window } from './calendar.js'
import type { Cell } from './columns.js'
import type { Progress, SampleSource, Survey } from './fields.js'
import type { Instant } from './instant.js'
import type {
  Cursor,
  DueDay,
  FirstReading,
  PastRuns,
  PlannedSurvey,
  StoredDays,
  SurveySelection,
  SurveyTotals,
} from './plan-facts.js'
import type { SurveyKind } from './request-usage.js'
import type {
  ExcludeRules,
  ListingKind,
  PublishReport,
  RejectionReason,
  ReplayResult,
  RowCounts,
  RowCountsByTable,
  RunFacts,
  RunReport,
  RunStart,
  TaskReason,
} from './run.js'
import type { Drift, ReadExtent, Rejection } from './survey-source.js'

export interface AccountWarehouse {
  readonly account: string
  /** Records the start of a run, and marks earlier runs that never recorded their end as killed. */
  startRun(run: RunStart): Promise<void>
  finishRun(report: RunReport): Promise<void>

  position(): Promise<Position>
  /** Starts a listing, and drops an unfinished listing of the same kind. A full listing stays due until it ends. */
  startListing(start: ListingStart): Promise<void>
  /** Number of distinct surveys in the listing so far, including this page. */
  countListed(page: ListedRows): Promise<number>
  /** Commits pages of one listing that were read one after another. Returns what happened to the rows of surveys. */
  commitListingPages(pages: readonly ListingPage[]): Promise<RowCounts>
  /** Whether the API has as many surveys as we know, quarantined surveys included. If so, no survey has gone as of `at`, our clock. */
  agreesWithTotal(totalCount: number, at: Instant): Promise<boolean>
  /** Drops an unfinished listing, so that the next run starts a new one. */
  dropListing(kind: ListingKind): Promise<void>

  surveyTotals(): Promise<SurveyTotals>
  /** Passes the selected surveys to `use` one by one, because all of them may take much more memory than a queue. */
  eachPlannedSurvey(selection: SurveySelection, use: (survey: PlannedSurvey) => void): Promise<void>
  pastRuns(overlapMs: number): Promise<PastRuns>
  enqueue(tasks: readonly NewTask[], at: Stamp): Promise<void>
  hasTasks(): Promise<boolean>
  /**
   * Marks exactly the surveys that the rules exclude. Returns the surveys and projects in the rules that the API does not show, in words.
   */
  storeExclusions(rules: ExcludeRules | undefined): Promise<readonly string[]>
  /** The stored sources and progress of each of these surveys. */
  storedBundles(surveyIds: readonly number[]): Promise<ReadonlyMap<number, StoredBundle>>
  storedDays(surveyId: number): Promise<StoredDays>
  /** The surveys that were first read shortly before `at`, server time, the newest survey first. */
  firstReadings(at: Instant): Promise<readonly FirstReading[]>
  commitReconstructed(surveys: readonly ReconstructedSurvey[], runId: string): Promise<RowCountsByTable>
  /** Keeps only the last observation of each UTC day before `before`. Returns the number of removed rows. */
  compactProgress(before: Instant, at: Stamp): Promise<number>
  /** With `only`, the facts about the queue concern only these surveys. */
  runFacts(runId: string, only?: readonly number[]): Promise<RunFacts>
  /** Quarantined rows that were not replayed, in the order in which they were read, in batches. */
  quarantined(): AsyncIterable<readonly QuarantinedRow[]>
  /** Marks the rows as replayed at `at`, our clock, and merges or queues them unless newer rows are stored. */
  commitReplay(rows: readonly RetypedRow[], replay: Stamp): Promise<ReplayedBatch>
  /** Rows that no replay could type so far, with the reasons why they were rejected. */
  waitingRows(): Promise<{ readonly waiting: number; readonly rejections: readonly RejectionReason[] }>
  commitBundles(outcomes: readonly BundleOutcome[], runId: string): Promise<RowCountsByTable>
  /** Counts an attempt to read a survey in parts. Called before the attempt starts, so that a killed run counts too. */
  beginParts(surveyId: number, at: Stamp): Promise<void>
  /** The answers that earlier runs have read of a survey that is read in parts, by request. */
  keptAnswers(surveyId: number): Promise<ReadonlyMap<string, KeptAnswer>>
  keepAnswers(surveyId: number, answers: ReadonlyMap<string, KeptAnswer>, runId: string): Promise<void>
  /** The surveys for which the API has answered this kind of request before. */
  answeredSurveys(kind: SurveyKind): Promise<ReadonlySet<number>>
  /** Forgets the refusals of this run, because an endpoint refused all surveys: the next run tries them again. */
  forgetRefusals(runId: string): Promise<void>
}

/** Publishes the committed state for readers. */
export interface Publisher {
  /** The name for the progress bar: one of `PUBLISH_FORMATS`, or the address of a bucket, which gets all formats at once. */
  readonly format: string
  /**
   * Rejects with the signal's reason if the signal aborts before the published state is replaced. Then the published state is unchanged,
   * and no temporary files remain. A later abort has no effect.
   */
  publish(signal: AbortSignal): Promise<readonly PublishReport[]>
}

/** A version is published, but some of what readers open shows an older one. `published` is what shows the new one. */
export class BehindError extends WarehouseError {
  readonly published: readonly PublishReport[]

  constructor(
    code: 'delta_behind' | 'address_behind',
    message: string,
    published: readonly PublishReport[],
    options?: ErrorOptions,
  ) {
    super(code, message, options)
    this.published = published
  }
}

export type CellRow = Readonly<Record<string, Cell>>

/** The run that makes a change, and the server's time of the change. */
export interface Stamp {
  readonly runId: string
  readonly at: Instant
}

/** The state of an account's listings. */
export interface Position extends Cursor {
  /** The interrupted listing of each kind; null without one. */
  readonly listings: Readonly<Record<ListingKind, ListingState | null>>
}

export interface ListingStart {
  readonly kind: ListingKind
  readonly updatedSince: Instant | null
  /** The cursor after the complete listing. The ceiling of a full listing moves with each listing of changes that ends meanwhile. */
  readonly ceiling: Instant
  /** Our clock. */
  readonly startedAt: Instant
}

export interface ListingState extends ListingStart {
  /** When the ceiling was fixed, our clock; null if unknown. */
  readonly ceilingDatedAt: Instant | null
  readonly nextPage: number
  /** `total_count` of the last page read. */
  readonly totalCount: number
  /** The least `total_count` of the pages read; null before the first. */
  readonly leastTotalCount: number | null
}

/** The rows of a page of a listing. A page that is read again counts once. */
export interface ListedRows {
  readonly kind: ListingKind
  readonly page: number
  readonly surveys: readonly Survey[]
  readonly rejections: readonly Rejection[]
}

export interface ListingPage extends Stamp, ListedRows {
  readonly drift: readonly Drift[]
  readonly totalCount: number
  /** The page to read next; null completes the listing, and the cursor moves to its ceiling. */
  readonly nextPage: number | null
  /** Our clock; dates the cursor when the listing completes. */
  readonly committedAt: Instant
}

export interface NewTask {
  readonly surveyId: number
  readonly reason: TaskReason
}

/** The stored rows of a survey, which decide whether the requests per source can be skipped. Missing rows are left out. */
export interface StoredBundle {
  readonly sources: readonly CellRow[]
  readonly progress: CellRow | null
  /** The sources that are not marked as missing, also if they were stored before the survey's progress. */
  readonly knownSourceIds: readonly number[]
  /** The known sources that the last complete list lacked. */
  readonly unlistedSourceIds: readonly number[]
  /** When the progress of every source was last read; null = never, or the progress of a source could not be typed since then. */
  readonly sourceProgressReadAt: Instant | null
}

export type BundleOutcome = RefreshedBundle | GoneSurvey | FailedTask | OversizedTask

interface OutcomeOfSurvey {
  readonly surveyId: number
  /** When the survey's progress was read, server time. */
  readonly at: Instant
}

/** How much of a list of sources was read. `some`: a source may be missing, or could not be typed. `failed`: the API did not answer. */
export type ListExtent = 'all' | 'some' | 'failed'

/** Sources and progress of one survey, read together. */
export interface RefreshedBundle extends OutcomeOfSurvey {
  readonly kind: 'refreshed'
  /** The part that could not be read; null if everything was read. With an unread part the task stays queued. */
  readonly unread: UnreadPart | null
  /** If it is `failed`, `sources` is empty. */
  readonly sourcesRead: ListExtent
  readonly sources: readonly SampleSource[]
  /** When the sources were listed, if not at `at`. */
  readonly sourcesAt?: Instant
  /**
   * When an earlier run began to read the survey. Its answers are then of several nights, so a change since `begunAt` may be missing from
   * them.
   */
  readonly begunAt?: Instant
  /**
   * Every listed source, including rejected rows, and every known source that the list lacks but that has not gone; null if the list is not
   * known completely.
   */
  readonly listedSourceIds: readonly number[] | null
  /** The known sources that a complete list lacks but that have not gone. Left out if no list was compared. */
  readonly unlistedSources?: { readonly ids: readonly number[]; readonly answering: number }
  /** Null if the progress was rejected. */
  readonly progress: Progress | null
  readonly sourceProgress: readonly {
    readonly sampleSourceId: number
    readonly progress: Progress
    readonly at: Instant
  }[]
  /**
   * `none`: the progress of the survey was not read either. The stored progress stays, and a pending row of the survey waits on.
   * `unchanged`: list and progress equal the stored ones, so the progress of the sources was not read. `some`: the progress of a source
   * could not be typed, so the next reading reads all sources.
   */
  readonly sourceProgressRead: ReadExtent | 'unchanged'
  /** Left out if the settings have no days. */
  readonly days?: ReadDays
  readonly rejections: readonly Rejection[]
  readonly drift: readonly Drift[]
}

export interface UnreadPart {
  /** All failures, on one line. */
  readonly error: string
  /** Whether the API refused the request: 404, 401, 403 or another status that means no. Any other failure may pass by the next run. */
  readonly isRefused: boolean
}

export interface ReadDays {
  /** Days of the whole survey. */
  readonly read: ReadExtent
  /** Days of its sources; `some` if the settings exclude days of sources. */
  readonly sourcesRead: ReadExtent
  readonly timeZone: string
  readonly rows: readonly DayRow[]
}

interface DayRow {
  /** Null for the whole survey. */
  readonly sampleSourceId: number | null
  readonly day: DueDay
  readonly progress: Progress
  readonly at: Instant
}

/** The progress of a survey as of times before its first reading. */
export interface ReconstructedSurvey
  extends Pick<RefreshedBundle, 'surveyId' | 'at' | 'rejections' | 'drift'> {
  readonly rows: readonly { readonly window: Window; readonly progress: Progress; readonly at: Instant }[]
}

/** A survey that a complete listing of all surveys did not show, and whose own two addresses returned 404. */
interface GoneSurvey extends OutcomeOfSurvey {
  readonly kind: 'gone'
}

/** A survey of which nothing was read. It stays queued. */
interface FailedTask extends OutcomeOfSurvey {
  readonly kind: 'failed'
  /** The whole survey, as the unread part. */
  readonly unread: UnreadPart
  /** Whether the survey may be gone. Then the next listing is full, to find out. */
  readonly mayBeGone: boolean
}

/** A survey that did not fit into the run. It stays queued with the number of requests that it needs. */
export interface OversizedTask extends OutcomeOfSurvey {
  readonly kind: 'oversized'
  readonly requestsNeeded: number
  /** The answers that were read in parts; left out if the survey was not begun. */
  readonly parts?: {
    readonly answers: number
    /** Whether this run has added answers. */
    readonly isLonger: boolean
  }
}

/** A row of `_sync.rejected_rows` that no replay could type so far. */
export interface QuarantinedRow extends Pick<Rejection, 'endpoint' | 'surveyId' | 'sampleSourceId' | 'raw'> {
  readonly runId: string
  readonly rejectedAt: Instant
}

/** A row as this version types it. `survey` is null for sources and progress, which are read again instead of merged. */
export interface RetypedRow extends QuarantinedRow {
  readonly survey: Survey | null
  readonly drift: readonly Drift[]
}

/** Decodes a row from its text alone; null if the row still cannot be typed. */
export type DecodeAgain = (
  row: Pick<QuarantinedRow, 'endpoint' | 'raw'>,
) => Pick<RetypedRow, 'survey' | 'drift'> | null

/** `rows` counts rows of the table `surveys`. */
export type ReplayedBatch = Readonly<Record<ReplayResult, number>> & { readonly rows: RowCounts }
