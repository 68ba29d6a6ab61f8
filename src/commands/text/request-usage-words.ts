/** The kinds and reasons of requests, in words for people. */
import type { RequestKind, RequestReason } from '../../model/request-usage.js'

export const REQUEST_USAGE_WORDS: Readonly<Record<RequestKind | RequestReason, string>> = {
  surveys: 'pages of surveys',
  sample_sources: 'sources listed',
  survey_progress: 'progress',
  sample_source_progress: 'progress by source',
  daily_progress: 'progress by day',
  listing: 'listing',
  left_over: 'left over',
  changed: 'changed or new',
  active: 'active',
  settling: 'settling',
  old: 'old',
  missing: 'not listed',
  resting: 'not due',
}
