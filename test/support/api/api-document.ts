/**
 * The tables of the API document, typed in by hand from its text alone. The decoder and the reference server, which
 * have no code in common, are both tested against them, so a misreading of either one fails a test.
 */

export interface DocumentedField {
  readonly type: 'integer' | 'string' | 'timestamp' | 'boolean' | 'float' | 'object'
  readonly nullable?: true
  /** All values of an enumeration. */
  readonly values?: readonly string[]
}

export type DocumentedFields = Readonly<Record<string, DocumentedField>>

/** "Survey", with "Survey status" for the values of `status`. */
export const SURVEY: DocumentedFields = {
  id: { type: 'integer' },
  title: { type: 'string' },
  created_at: { type: 'timestamp' },
  updated_at: { type: 'timestamp' },
  hashid: { type: 'string' },
  project_id: { type: 'string', nullable: true },
  status: {
    type: 'string',
    values: [
      'draft',
      'pending',
      'fieldwork',
      'deviating_from_specs',
      'data_processing',
      'complete',
      'user_demo',
    ],
  },
  owner_organization_id: { type: 'integer' },
  transition_style: { type: 'string', values: ['single_page', 'multiple_pages'] },
  respondent_questions_count: { type: 'integer' },
  respondent_iterations_count: { type: 'integer' },
}

/** "Sample source". */
export const SAMPLE_SOURCE: DocumentedFields = {
  id: { type: 'integer' },
  provider: { type: 'string', values: ['panel', 'client_sample', 'social_networks', 'data_import'] },
  sample_size: { type: 'integer' },
  country_code: { type: 'string' },
  description: { type: 'string' },
  name: { type: 'string' },
  hashid: { type: 'string' },
  panelist_id_required: { type: 'boolean' },
  created_at: { type: 'timestamp' },
  updated_at: { type: 'timestamp' },
}

/**
 * "Fieldwork progress". The document calls no field nullable. A rate over zero interviews has no value, so the decoder
 * reads null there and the reference server writes it.
 */
export const FIELDWORK_PROGRESS: DocumentedFields = {
  sample_size: { type: 'integer' },
  interviews_count: { type: 'integer' },
  interview_count_by_status: { type: 'object' },
  completion_rate: { type: 'float', nullable: true },
  questionnaire_incidence_rate: { type: 'float', nullable: true },
  target_incidence_rate: { type: 'float', nullable: true },
  incidence_rate: { type: 'float', nullable: true },
  drop_out_rate: { type: 'float', nullable: true },
  length_of_interview: { type: 'integer', nullable: true },
}

/** "Interview status": the keys of `interview_count_by_status`. */
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
]

/** An entry of `interview_count_by_status`. */
export const STATUS_ENTRY: DocumentedFields = {
  individuals: { type: 'integer' },
  percentage: { type: 'float' },
}

/** "Pagination object". */
export const PAGINATION: DocumentedFields = {
  current_page: { type: 'integer' },
  next_page: { type: 'integer', nullable: true },
  prev_page: { type: 'integer', nullable: true },
  total_pages: { type: 'integer' },
  total_count: { type: 'integer' },
}
