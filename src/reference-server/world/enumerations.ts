/** The enumerations of the API document, typed in from its tables. The order is theirs. */

/** "Survey status". */
export const SURVEY_STATUSES = [
  'draft',
  'pending',
  'fieldwork',
  'deviating_from_specs',
  'data_processing',
  'complete',
  'user_demo',
] as const

export type SurveyStatus = (typeof SURVEY_STATUSES)[number]

/** "Interview status": the keys of `interview_count_by_status`. Ignored is not among them: it is never shown. */
export const INTERVIEW_STATUSES = [
  'complete',
  'incomplete',
  'quota_full',
  'screen_out',
  'above_target',
  'manual_action',
  'pending_analysis',
  'speeder',
  'straightliner',
  'failed_quality_check',
  'inappropriate_language',
] as const

export type InterviewStatus = (typeof INTERVIEW_STATUSES)[number]

/** "Sample source", `provider`. */
export const PROVIDERS = ['panel', 'client_sample', 'social_networks', 'data_import'] as const

export type Provider = (typeof PROVIDERS)[number]

/** "Survey", `transition_style`. */
export const TRANSITION_STYLES = ['single_page', 'multiple_pages'] as const

export type TransitionStyle = (typeof TRANSITION_STYLES)[number]
