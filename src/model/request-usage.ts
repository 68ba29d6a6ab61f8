/** Where a run's requests went, and which it could do without: by what was asked for and why. */

/** What is asked for: endpoints of the API document, the third of them told apart by what it is asked about. */
export const REQUEST_KINDS = [
  'surveys',
  'sample_sources',
  'survey_progress',
  'sample_source_progress',
  'daily_progress',
] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]

/** Why a survey is queued. */
export const TASK_REASONS = ['changed', 'active', 'settling', 'old', 'missing'] as const

/** Why: the listing, the reason of a survey's task, or (`resting`) a survey that was not due. */
export const REQUEST_REASONS = ['listing', 'left_over', ...TASK_REASONS, 'resting'] as const
export type RequestReason = (typeof REQUEST_REASONS)[number]

export interface RequestUsage {
  readonly kind: RequestKind
  readonly reason: RequestReason
  /** Requests sent, retries included. */
  readonly requests: number
  /** Requests that were not made because their answer was known, or was not due. */
  readonly saved: number
}

/** Of each kind. */
export type RequestsByKind = Readonly<Partial<Record<RequestKind, number>>>
