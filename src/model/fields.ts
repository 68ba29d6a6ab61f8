/** The fields of the API's resources, in the API's own names and order (API document, "Resources and their fields"), and their row types. */
import { bigint, boolean, double, json, type RowOf, timestamptz, varchar, varcharOf } from './columns.js'

const extra = json.orNull(
  'Fields of the API answer that this version does not know, as JSON with sorted keys; null without any',
)

/** API document, "Survey status". */
export const SURVEY_STATUSES = [
  'draft',
  'pending',
  'fieldwork',
  'deviating_from_specs',
  'data_processing',
  'complete',
  'user_demo',
] as const

/** API document, "Survey", `transition_style`. */
const TRANSITION_STYLES = ['single_page', 'multiple_pages'] as const

/** API document, "Sample source", `provider`. */
const PROVIDERS = ['panel', 'client_sample', 'social_networks', 'data_import'] as const

/** API document, "Survey". */
export const SURVEY_FIELDS = {
  id: bigint('ID of the survey'),
  title: varchar('Title of the survey'),
  created_at: timestamptz('When the survey was created'),
  updated_at: timestamptz('When the survey was last modified; new interviews do not change it'),
  hashid: varchar('Identifier of the survey used in URLs'),
  project_id: varchar.orNull('Customizable identifier set by the user'),
  status: varcharOf(SURVEY_STATUSES, 'Status of the survey'),
  owner_organization_id: bigint('ID of the organization that owns the survey'),
  transition_style: varcharOf(TRANSITION_STYLES, 'Questionnaire display mode'),
  respondent_questions_count: bigint('Number of questions displayed to respondents'),
  respondent_iterations_count: bigint('Number of question iterations displayed to respondents'),
  _extra: extra,
}
export type Survey = RowOf<typeof SURVEY_FIELDS>

/** API document, "Sample source". */
export const SAMPLE_SOURCE_FIELDS = {
  id: bigint('ID of the sample source'),
  provider: varcharOf(PROVIDERS, 'Type of provider of the source'),
  sample_size: bigint('Target sample size of the source, complete interviews'),
  country_code: varchar('ISO 3166 country code'),
  description: varchar('Long description of the source'),
  name: varchar('Short description of the source'),
  hashid: varchar('Identifier of the source used in URLs'),
  panelist_id_required: boolean('Whether interviews of this source must carry a panelist_id to be valid'),
  created_at: timestamptz('When the source was created'),
  updated_at: timestamptz('When the source was last modified'),
  _extra: extra,
}
export type SampleSource = RowOf<typeof SAMPLE_SOURCE_FIELDS>

/** API document, "Interview status". A further status, Ignored, never shows. */
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

type ByStatus<Individuals, Percentage> = {
  readonly [Name in `${InterviewStatus}_individuals`]: Individuals
} & { readonly [Name in `${InterviewStatus}_percentage`]: Percentage }

const STATUS_COLUMNS = INTERVIEW_STATUSES.map(
  (status) => [status, `${status}_individuals`, `${status}_percentage`] as const,
)

/** The two columns of every interview status, each with its value. */
export const byStatus = <Individuals, Percentage>(
  individuals: (status: InterviewStatus) => Individuals,
  percentage: (status: InterviewStatus) => Percentage,
): ByStatus<Individuals, Percentage> => {
  const all: Record<string, Individuals | Percentage> = {}
  for (const [status, ofIndividuals, ofPercentage] of STATUS_COLUMNS) {
    all[ofIndividuals] = individuals(status)
    all[ofPercentage] = percentage(status)
  }
  if (!hasEveryStatus<Individuals, Percentage>(all)) throw new TypeError('an interview status has no columns')
  return all
}

const hasEveryStatus = <Individuals, Percentage>(all: object): all is ByStatus<Individuals, Percentage> =>
  STATUS_COLUMNS.every(([, individuals, percentage]) => individuals in all && percentage in all)

/** API document, "Fieldwork progress". An indicator that the API leaves out, or gives as null, is null. */
export const INDICATOR_FIELDS = {
  sample_size: bigint.orNull('Number of expected complete interviews'),
  interviews_count: bigint.orNull('Number of complete interviews collected'),
  completion_rate: double.orNull('complete interviews / total sample size'),
  questionnaire_incidence_rate: double.orNull('complete / (complete + screen_out + quota_full + incomplete)'),
  target_incidence_rate: double.orNull('complete / (complete + screen_out)'),
  incidence_rate: double.orNull('Deprecated by the API: the same as target_incidence_rate'),
  drop_out_rate: double.orNull('incomplete interviews / total number of interviews'),
  length_of_interview: bigint.orNull('Median length of a complete interview, seconds'),
}

export const PROGRESS_FIELDS = {
  ...INDICATOR_FIELDS,
  ...byStatus(
    (status) => bigint.orNull(`Number of interviews with status ${status}`),
    (status) => double.orNull(`Percentage of interviews with status ${status}, as the API gives it`),
  ),
  _extra: extra,
}
export type Progress = RowOf<typeof PROGRESS_FIELDS>
