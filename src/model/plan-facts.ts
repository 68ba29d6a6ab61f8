/** The input of the queue and of a plan: the stored surveys and the earlier runs. */
import type { DayWindow } from './calendar.js'
import type { Instant } from './instant.js'
import type { ExcludeRules, RefreshRules, TaskReason } from './run.js'
import type { EXCLUDED_BY } from './tables.js'

/** The facts about a survey when the queue is computed. Instants are server time. */
export interface SurveyFacts {
  readonly id: number
  readonly status: string
  /** When its progress was last read; null = never. */
  readonly refreshedAt: Instant | null
  /** When its row, its progress or one of its sources last changed; null if unknown. */
  readonly changedAt: Instant | null
  readonly missing: boolean
  /** Whether the list leaves out the survey, or its list of sources leaves out sources, although they still answer. */
  readonly leftOut: boolean
}

/** A day to read. `isFinal`: this reading is its last. */
export interface DueDay extends DayWindow {
  readonly isFinal: boolean
}

/** A stored day; `sampleSourceId` is null for the whole survey. */
export interface StoredDay {
  readonly sampleSourceId: number | null
  readonly day: string
  readonly timeZone: string
  /** Whether the day is never read again. */
  readonly isFinal: boolean
}

/** The stored days of a survey. */
export interface StoredDays {
  /** The fields that decide up to which day a survey is read. */
  readonly survey: { readonly status: string; readonly updatedAt: Instant }
  readonly days: readonly StoredDay[]
  /** When all due days of the whole survey were last read; null when they may be older than the stored survey. */
  readonly readAt: Instant | null
  /** When all due days of its sources were last read; null when they may be older than the stored survey. */
  readonly sourcesReadAt: Instant | null
}

/**
 * A survey that has been in fieldwork since it was first seen, with the facts that decide which windows before its first reading are read.
 */
export interface FirstReading {
  readonly surveyId: number
  readonly createdAt: Instant
  /** When its progress was first read. */
  readonly firstReadAt: Instant
  /** The earliest time as of which its progress is stored; null = none before `firstReadAt`. */
  readonly reconstructedFrom: Instant | null
}

/** A survey with everything that its requests depend on. */
export interface PlannedSurvey extends SurveyFacts {
  readonly createdAt: Instant
  /** When a listing last showed it; null = never. */
  readonly listedAt: Instant | null
  /** Number of sources that are not missing. */
  readonly sources: number
  readonly sourceProgressReadAt: Instant | null
  /** Whether its last reading found its progress changed; null after only one reading. */
  readonly moved: boolean | null
  /** Its stored days that will be read again. */
  readonly daysOpen: number
  /** The rule of the settings that excludes the survey from reading. */
  readonly excludedBy: (typeof EXCLUDED_BY)[number] | null
  /** Its task in the queue; null when it is not queued. */
  readonly task: {
    readonly reason: TaskReason
    readonly enqueuedAt: Instant
    /** The run that queued it. */
    readonly runId: string
    readonly requestsNeeded: number | null
    /** When an attempt to read it, or a part of it, last failed, server time; null if none did. */
    readonly failedAt: Instant | null
    readonly refusals: number
    /** Server time; null without a refusal. */
    readonly refusedAt: Instant | null
    /** Attempts in a row to read it in parts that brought nothing new. */
    readonly unfinished: number
    /** When a run last began to read it in parts; null if none did. */
    readonly unfinishedAt: Instant | null
  } | null
}

/** The surveys and sources of the account that are not missing. */
export interface SurveyTotals {
  readonly present: number
  readonly sources: number
  readonly withSources: number
}

/** Selects the surveys for a queue. */
export interface SurveySelection {
  readonly rules: Pick<RefreshRules, 'daily_windows'>
  /** Selects only surveys that are queued already. */
  readonly onlyQueued?: boolean
  /** By default, what the last sync found excluded. */
  readonly exclude?: ExcludeRules | undefined
  /** Selects only the surveys with these ids, due or not. */
  readonly only?: readonly number[] | undefined
}

/** Where the next listing starts. */
export interface Cursor {
  /** `updated_since` of the next listing; null before the first complete one. */
  readonly cursor: Instant | null
  /** When the first page of the listing that set the cursor was read, our clock; null if unknown. */
  readonly cursorDatedAt: Instant | null
  /** End of the last full listing, our clock. */
  readonly fullListedAt: Instant | null
  /** When the number of surveys in the API last equalled the number that we know, our clock; null = never compared. */
  readonly countedAt: Instant | null
  /** Whether the list leaves out surveys that still answer. */
  readonly hasLeftOut: boolean
  /**
   * Whether a full listing is due: a survey returned 404 at its own address since the last one, or a full listing has begun and not ended.
   */
  readonly fullListingDue: boolean
}

/** Facts from earlier runs. */
export interface PastRuns extends Cursor {
  /** The server's time when the last run listed; null before the first. */
  readonly listedAt: Instant | null
  /** The time of that listing by our clock. */
  readonly listedAtOurs: Instant | null
  /** The next page of a full listing that is under way; null without one. */
  readonly fullNextPage: number | null
  /** Rows of a full page; null if no listing had more than one page. */
  readonly pageRows: number | null
  /** Time between the last runs, server time, milliseconds; null with fewer than two. */
  readonly everyMs: number | null
}
