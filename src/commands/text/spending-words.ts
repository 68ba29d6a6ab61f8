/** What requests are spent on, in words for people. */
import type { SpendingKind, SpendingReason } from '../../model/spending.js'

export const SPENDING_WORDS: Readonly<Record<SpendingKind | SpendingReason, string>> = {
  surveys: 'pages of surveys',
  sample_sources: 'sources listed',
  survey_progress: 'progress',
  sample_source_progress: 'progress by source',
  daily_progress: 'progress by day',
  listing: 'listing',
  left_over: 'left over',
  changed: 'changed or new',
  live: 'live',
  settling: 'settling',
  old: 'old',
  missing: 'not listed',
  resting: 'not due',
}
