/**
 * The tables of the API document, "Resources and their fields", copied by hand from its text, and functions that read a service's values
 * without trusting them.
 */

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Null for anything but a whole number. */
export const integerOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) ? value : null

/** Null for anything but text. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/**
 * A moment as the API writes it (API document, "Resources and their fields"). In milliseconds two different moments could be equal, and a
 * correct bound of a service would look wrong.
 */
export interface Moment {
  /** Microseconds since 1970; further digits are cut off. */
  readonly micros: bigint
  readonly digits: number
  readonly offset: string
}

const ISO_TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:[.,](\d{1,12}))?(Z|[+-]\d{2}(?::\d{2})?)$/

export const MICROS_PER_SECOND = 1_000_000n

/** Null for anything but a date-time with an offset on an existing day. */
export const parseMoment = (value: unknown): Moment | null => {
  const match = typeof value === 'string' ? ISO_TIME.exec(value) : null
  if (match === null) return null
  const [, local = '', fraction = '', offset = ''] = match
  const localMs = Date.parse(`${local}Z`)
  if (Number.isNaN(localMs) || !new Date(localMs).toISOString().startsWith(local)) return null
  // Minutes may be left out.
  const atMs = Date.parse(`${local}${/^.\d\d$/.test(offset) ? `${offset}:00` : offset}`)
  if (Number.isNaN(atMs)) return null
  const micros = BigInt(atMs) * 1_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'))
  return { micros, digits: fraction.length, offset }
}

/** With 0, 3 or 6 fractional digits; in UTC, or at an offset of `minutesEast` minutes. */
export const formatMoment = (micros: bigint, offset = 'Z', minutesEast = 0n): string => {
  const local = micros + minutesEast * 60n * MICROS_PER_SECOND
  const fraction = ((local % MICROS_PER_SECOND) + MICROS_PER_SECOND) % MICROS_PER_SECOND
  const seconds = (local - fraction) / MICROS_PER_SECOND
  const whole = new Date(Number(seconds) * 1_000).toISOString().slice(0, 19)
  const digits = String(fraction).padStart(6, '0')
  if (fraction === 0n) return `${whole}${offset}`
  return `${whole}.${digits.endsWith('000') ? digits.slice(0, 3) : digits}${offset}`
}

/** One unit of the last written digit of the moment, microseconds. */
export const stepOf = ({ digits }: Moment): bigint => 10n ** BigInt(6 - Math.min(6, digits))

export interface Field {
  readonly type: 'integer' | 'string' | 'timestamp' | 'boolean' | 'float' | 'object'
  readonly nullable?: true
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

/** Whether the document allows the value in the field. */
export const conforms = (value: unknown, { type, nullable, values }: Field): boolean => {
  if (value === null) return nullable === true
  if (values !== undefined && !(typeof value === 'string' && values.includes(value))) return false
  return TYPES[type][1](value)
}

/** Each type in words, and whether a value has it. */
const TYPES: Readonly<Record<Field['type'], readonly [string, (value: unknown) => boolean]>> = {
  integer: ['integer', (value) => integerOf(value) !== null],
  float: ['number', (value) => typeof value === 'number'],
  timestamp: ['ISO 8601 with offset', (value) => parseMoment(value) !== null],
  object: ['object', isObject],
  string: ['string', (value) => typeof value === 'string'],
  boolean: ['true or false', (value) => typeof value === 'boolean'],
}

/** The type in words. */
export const describeField = ({ type, nullable, values }: Field): string => {
  const kind = values === undefined ? TYPES[type][0] : `one of ${values.join(', ')}`
  return nullable === true ? `${kind}, may be null` : kind
}
