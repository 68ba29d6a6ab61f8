/** The port to the API: everything that a run needs, without URLs and status codes. */
import type { RequestContext } from '../base/allowance.js'
import { UpstreamError } from '../base/errors.js'
import type { RateUsage } from '../base/network.js'
import type { Window } from './calendar.js'
import type { Progress, SampleSource, Survey } from './fields.js'
import type { Instant } from './instant.js'

export interface SurveySource {
  /** One page of the surveys modified at or after `updatedSince`; null lists all (API document, endpoint 1). */
  listSurveys(query: SurveyListQuery, context: RequestContext): Promise<Page<Survey>>
  /** One page of the sample sources of a survey (endpoint 2). Throws `RefusedReadingError` when the API refuses it. */
  listSampleSources(surveyId: number, page: number, context: RequestContext): Promise<Page<SampleSource>>
  /** Progress of a survey or of one of its sources (endpoint 3). Throws `RefusedReadingError` when the API refuses it. */
  readProgress(query: ProgressQuery, context: RequestContext): Promise<Reading<Progress>>
  usage(): RateUsage
}

interface SurveyListQuery {
  readonly updatedSince: Instant | null
  /** Number of the page, from 1. */
  readonly page: number
}

interface ProgressQuery {
  readonly surveyId: number
  /** Null for the whole survey. */
  readonly sampleSourceId: number | null
  /** Restricts the progress to interviews that started in the window; left out for all interviews. */
  readonly window?: Window | undefined
}

/** The parts of an answer beside its rows. */
export interface Answer {
  /** When the answer was made: the server's `Date`, or our clock if that header is missing. */
  readonly readAt: Instant
  /** The server's `Date` header; null if it is missing or unreadable. */
  readonly serverDate: Instant | null
  readonly rejections: readonly Rejection[]
  readonly drift: readonly Drift[]
}

export interface Page<Row> extends Answer {
  /** One row for each id. */
  readonly rows: readonly Row[]
  /** Ids that occur in more than one row of the page, rejected rows included; left out if there are none. */
  readonly repeated?: readonly number[]
  readonly pagination: Pagination
}

/** The newest row of each id; of equally new rows the last. `rows` are in the order of reading. */
export const newestById = <Row extends { readonly id: number; readonly updated_at: Instant }>(
  rows: Iterable<Row>,
): ReadonlyMap<number, Row> => {
  const newest = new Map<number, Row>()
  for (const row of rows) {
    const other = newest.get(row.id)
    if (other !== undefined && other.updated_at > row.updated_at) continue
    newest.delete(row.id)
    newest.set(row.id, row)
  }
  return newest
}

export interface Reading<Row> extends Answer {
  /** Null if the row could not be typed, and is in `rejections`. */
  readonly row: Row | null
}

/** How much was read: `none` if everything is known to be unchanged. After `some`, nothing may be skipped until a reading is `all`. */
export type ReadExtent = 'all' | 'some' | 'none'

/** API document, "Pagination object". */
export interface Pagination {
  readonly current_page: number
  readonly next_page: number | null
  readonly prev_page: number | null
  readonly total_pages: number
  readonly total_count: number
}

export const ENDPOINTS = ['surveys', 'sample_sources', 'fieldwork_progress'] as const
type Endpoint = (typeof ENDPOINTS)[number]

/** A row that could not be typed. It is stored unchanged, counted and shown. The other rows of its page are merged. */
export interface Rejection {
  readonly endpoint: Endpoint
  readonly surveyId: number | null
  readonly sampleSourceId: number | null
  /** `id` of the rejected row itself; null if it could not be read. */
  readonly rowId: number | null
  /** The day of the requested window; left out for all interviews. */
  readonly day?: string
  /** Field and reason, one line. */
  readonly problem: string
  /** The JSON text of the row, digit for digit. */
  readonly raw: string
}

export const DRIFT_KINDS = ['unknown_field', 'unknown_value', 'replaced_text'] as const

/** A difference from the API document. `value` is null except for an unknown value. */
export interface Drift {
  readonly resource: 'survey' | 'sample_source' | 'fieldwork_progress'
  readonly kind: (typeof DRIFT_KINDS)[number]
  readonly path: string
  readonly value: string | null
}

/**
 * The API refused one address of a survey with a status that means no. A refusal concerns only this address: its endpoint counts as not
 * read, and run and task go on.
 */
export class RefusedReadingError extends UpstreamError {
  /** `not_found`: 404. `forbidden`: 401 or 403. `rejected`: any other status that means no. */
  readonly kind: RefusalKind

  constructor(kind: RefusalKind, message: string, options?: ErrorOptions) {
    super('reading_refused', message, options)
    this.kind = kind
  }
}

export type RefusalKind = 'not_found' | 'forbidden' | 'rejected'
