/** The tables of the API document, "Resources and their fields", copied by hand from its text, and whether a value has its type. */
import { isObject, parseMoment } from './values.js'

export interface Field {
  readonly type: 'integer' | 'string' | 'timestamp' | 'boolean' | 'float' | 'object'
  readonly nullable?: true
  /** All values of an enumeration. */
  readonly values?: readonly string[]
}

export type Fields = Readonly<Record<string, Field>>

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

/** "Survey". */
export const SURVEY_FIELDS: Fields = {
  id: { type: 'integer' },
  title: { type: 'string' },
  created_at: { type: 'timestamp' },
  updated_at: { type: 'timestamp' },
  hashid: { type: 'string' },
  project_id: { type: 'string', nullable: true },
  status: { type: 'string', values: SURVEY_STATUSES },
  owner_organization_id: { type: 'integer' },
  transition_style: { type: 'string', values: ['single_page', 'multiple_pages'] },
  respondent_questions_count: { type: 'integer' },
  respondent_iterations_count: { type: 'integer' },
}

/** "Sample source". */
export const SAMPLE_SOURCE_FIELDS: Fields = {
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

/** "Fieldwork progress". Its table calls no field nullable, and does not say what a rate over zero is. */
export const PROGRESS_FIELDS: Fields = {
  sample_size: { type: 'integer' },
  interviews_count: { type: 'integer' },
  interview_count_by_status: { type: 'object' },
  completion_rate: { type: 'float' },
  questionnaire_incidence_rate: { type: 'float' },
  target_incidence_rate: { type: 'float' },
  incidence_rate: { type: 'float' },
  drop_out_rate: { type: 'float' },
  length_of_interview: { type: 'integer' },
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
] as const

/** An entry of `interview_count_by_status`. */
export const STATUS_ENTRY_FIELDS: Fields = {
  individuals: { type: 'integer' },
  percentage: { type: 'float' },
}

/** "Pagination object". */
export const PAGINATION_FIELDS: Fields = {
  current_page: { type: 'integer' },
  next_page: { type: 'integer', nullable: true },
  prev_page: { type: 'integer', nullable: true },
  total_pages: { type: 'integer' },
  total_count: { type: 'integer' },
}

/** Whether a value is one that the document allows in the field. */
export const conforms = (value: unknown, { type, nullable, values }: Field): boolean => {
  if (value === null) return nullable === true
  if (values !== undefined && !(typeof value === 'string' && values.includes(value))) return false
  switch (type) {
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value)
    case 'float':
      return typeof value === 'number'
    case 'timestamp':
      return parseMoment(value) !== null
    case 'object':
      return isObject(value)
    case 'string':
    case 'boolean':
      return typeof value === type
  }
}

const TYPES: Readonly<Record<Field['type'], string>> = {
  integer: 'integer',
  float: 'number',
  timestamp: 'ISO 8601 with offset',
  object: 'object',
  string: 'string',
  boolean: 'true or false',
}

/** The type in words. */
export const describeField = ({ type, nullable, values }: Field): string => {
  const kind = values === undefined ? TYPES[type] : `one of ${values.join(', ')}`
  return nullable === true ? `${kind}, may be null` : kind
}
