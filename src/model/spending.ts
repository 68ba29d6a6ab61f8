/** Where a run's requests went, and which it could do without: by what was asked for and why. */

/** What is asked for: endpoints of the API document, the third of them told apart by what it is asked about. */
export const SPENDING_KINDS = [
  'surveys',
  'sample_sources',
  'survey_progress',
  'sample_source_progress',
  'daily_progress',
] as const
export type SpendingKind = (typeof SPENDING_KINDS)[number]

/** Why a survey is queued. */
export const TASK_REASONS = ['changed', 'live', 'settling', 'old', 'missing'] as const

/** Why: the listing, the reason of a survey's task, or (`resting`) a survey that was not due. */
export const SPENDING_REASONS = ['listing', 'left_over', ...TASK_REASONS, 'resting'] as const
export type SpendingReason = (typeof SPENDING_REASONS)[number]

export interface Spending {
  readonly kind: SpendingKind
  readonly reason: SpendingReason
  /** Requests sent, retries included. */
  readonly requests: number
  /** Requests that were not made because their answer was known, or was not due. */
  readonly saved: number
}

/** Of each kind. */
export type RequestsByKind = Readonly<Partial<Record<SpendingKind, number>>>
