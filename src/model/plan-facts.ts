/** What the queue and a plan go by: the surveys that are stored, and the runs before. */
import type { Instant } from './instant.js'
import type { SurveyFacts } from './refresh-rules.js'
import type { TaskReason } from './run.js'

/** A survey with all that its requests depend on. */
export interface PlannedSurvey extends SurveyFacts {
  readonly createdAt: Instant
  /** That are not missing. */
  readonly sources: number
  readonly sourcesReadAt: Instant | null
  readonly sourceProgressReadAt: Instant | null
  /** Whether its last refresh found its progress changed; null where there was only one. */
  readonly moved: boolean | null
  /** Its days that are stored and will be read again. */
  readonly daysOpen: number
  /** Its place in the queue; null when it is not queued. */
  readonly task: {
    readonly reason: TaskReason
    readonly enqueuedAt: Instant
    /** The run that queued it. */
    readonly runId: string
    readonly requestsNeeded: number | null
    readonly refusals: number
    /** Server time; null where the API refused nothing. */
    readonly refusedAt: Instant | null
  } | null
}

/** Where the next listing starts. */
export interface Cursor {
  /** `updated_since` of the next listing; null before the first complete one. */
  readonly cursor: Instant | null
  /** End of the last full listing, our clock. */
  readonly fullListedAt: Instant | null
  /** Whether a survey answered 404 at its own address since then: the next listing is a full one. */
  readonly fullListingDue: boolean
}

/** What is known of the runs before. */
export interface PastRuns extends Cursor {
  /** The server's time when the last run listed; null before the first. */
  readonly listedAt: Instant | null
  /** The same by our clock. */
  readonly listedAtOurs: Instant | null
  /** Rows of a full page; null where no listing had more than one page. */
  readonly pageRows: number | null
  /** How far apart the last runs were, server time, milliseconds; null with fewer than two. */
  readonly everyMs: number | null
}
