/** The field names of the API document, for telling what is not among them. */
import {
  INTERVIEW_STATUSES,
  PAGINATION_FIELDS,
  PROGRESS_FIELDS,
  SAMPLE_SOURCE_FIELDS,
  SURVEY_FIELDS,
} from '../fields.js'

const namesOf = (fields: object): ReadonlySet<string> => new Set(Object.keys(fields))

export const FIELDS_BY_RESOURCE = {
  survey: namesOf(SURVEY_FIELDS),
  source: namesOf(SAMPLE_SOURCE_FIELDS),
  pagination: namesOf(PAGINATION_FIELDS),
  progress: namesOf(PROGRESS_FIELDS),
  status: new Set<string>(INTERVIEW_STATUSES),
} as const

/** Surveys and sources both have these. */
export const MOMENT_FIELDS = ['created_at', 'updated_at'] as const
