/** The requests of a run by kind and reason, sent and saved. */

/** The kinds of requests: the endpoints of the API document. The third endpoint, progress, is divided by its subject. */
export const REQUEST_KINDS = [
  'surveys',
  'sample_sources',
  'survey_progress',
  'sample_source_progress',
  'daily_progress',
] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]
/** The kinds of requests about one survey. */
export type SurveyKind = Exclude<RequestKind, 'surveys'>

/** Why a survey is queued (`src/rules/refresh.ts`). `requested`: `sync --surveys` names it. */
export const TASK_REASONS = ['changed', 'active', 'inactive', 'missing', 'requested'] as const

/**
 * Why a request was sent or saved: the listing, the reason of a survey's task, `reconstructed` for days before the survey was first read,
 * `not_due` for a survey that was not due, or `excluded` for a survey that the settings exclude.
 */
export const REQUEST_REASONS = [
  'listing',
  'left_over',
  ...TASK_REASONS,
  'reconstructed',
  'not_due',
  'excluded',
] as const
export type RequestReason = (typeof REQUEST_REASONS)[number]

export interface RequestUsage {
  readonly kind: RequestKind
  readonly reason: RequestReason
  /** Requests sent, retries included. */
  readonly requests: number
  /** Requests that were not sent, because their answer was known or not due. */
  readonly saved: number
}

/** Number of requests of each kind. */
export type RequestsByKind = Readonly<Partial<Record<RequestKind, number>>>
