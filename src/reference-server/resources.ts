/**
 * The resources of the API document, field by field from its tables. From a declaration, TypeScript infers the type of an answer, and the
 * OpenAPI document shows it. So each field is described in the API document's words.
 */
import { z } from 'zod'

/** A whole number from 0. The API document sets no limit, so `int64` warns clients not to store it in 32 bits. */
export const wholeNumber = (description: string) => z.int().min(0).meta({ description, format: 'int64' })

/** A whole number from 0, or null. */
export const wholeNumberOrNull = (description: string) =>
  z.int().min(0).meta({ format: 'int64' }).nullable().meta({ description })

export const text = (description: string) => z.string().meta({ description })

/** An object of exactly these fields. The OpenAPI document has the object once, under its id, and refers to it. */
export const object = <const Shape extends z.core.$ZodShape>(id: string, description: string, shape: Shape) =>
  z.strictObject(shape).meta({ id, description })

/** API document, "Resources and their fields": ISO 8601 with an offset. */
export const moment = (description: string) => z.string().meta({ description, format: 'date-time' })

/** The type of an answer: `readonly` at every level. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T

/** One of several values, each with its meaning. */
const oneOf = <Value extends string>(
  id: string,
  description: string,
  meanings: readonly (readonly [value: Value, meaning: string])[],
) => {
  const values = meanings.map(([value]) => value)
  return z
    .enum(values, { error: `give one of ${values.join(', ')}` })
    .meta({ id, description, 'x-enumDescriptions': Object.fromEntries(meanings) })
}

/** API document, "Survey status". */
export const surveyStatus = oneOf('SurveyStatus', 'Status of a survey', [
  ['draft', 'The survey is being created'],
  ['pending', 'Check before fieldwork opens; a soft launch is possible'],
  ['fieldwork', 'Fieldwork is running'],
  [
    'deviating_from_specs',
    'Fieldwork is paused because of deviations from the audience order specifications',
  ],
  ['data_processing', 'Data processing is running on the survey'],
  ['complete', 'The survey is complete'],
  ['user_demo', 'The survey is for demonstration purposes only'],
])

export const SURVEY_STATUSES = surveyStatus.options

export type SurveyStatus = z.output<typeof surveyStatus>

/** API document, "Survey", `transition_style`. */
export const transitionStyle = oneOf('TransitionStyle', 'Questionnaire display mode', [
  [
    'single_page',
    'One page: each new question appears once the previous one is answered, as in a conversation',
  ],
  ['multiple_pages', 'Several pages: each new question appears on a new page'],
])

/** API document, "Survey". */
export const survey = object('Survey', 'A survey of the organization', {
  id: wholeNumber('ID of the record'),
  title: text('Title of the survey'),
  created_at: moment('Creation date and time'),
  /** The last change of one of the survey's own fields; sources and interviews do not move it. */
  updated_at: moment('Last modification date and time'),
  hashid: text('Identifier of the survey used in URLs'),
  project_id: z.string().nullable().meta({ description: 'Customizable identifier set by the user' }),
  status: surveyStatus.meta({ description: 'Status of the survey' }),
  owner_organization_id: wholeNumber('ID of the organization that owns the record'),
  transition_style: transitionStyle,
  respondent_questions_count: wholeNumber('Number of questions displayed to respondents'),
  respondent_iterations_count: wholeNumber(
    'Number of question iterations displayed to respondents. An iteration is a row entry in a grid question: each row of a grid, each input field of a numerical question, each scale of a scale question',
  ),
})

export type SurveyResource = DeepReadonly<z.output<typeof survey>>

/** API document, "Sample source", `provider`. */
export const provider = z
  .enum(['panel', 'client_sample', 'social_networks', 'data_import'])
  .meta({ id: 'Provider', description: 'Type of provider of a sample source' })

/** API document, "Sample source". */
export const sampleSource = object('SampleSource', 'A sample source of a survey', {
  id: wholeNumber('ID of the record'),
  provider: provider.meta({ description: 'Type of provider of the source' }),
  sample_size: wholeNumber('Target sample size for this source'),
  /** This server takes ISO 3166-1 alpha-2. */
  country_code: text('ISO 3166 country code'),
  description: text('Long description of the source'),
  name: text('Short description of the source'),
  hashid: text('Identifier of the source used in URLs'),
  panelist_id_required: z.boolean().meta({
    description: 'When true, interviews created in this source must carry a `panelist_id` to be valid',
  }),
  created_at: moment('Creation date and time'),
  updated_at: moment('Last modification date and time'),
})

export type SampleSourceResource = DeepReadonly<z.output<typeof sampleSource>>

/** One entry of `interview_count_by_status`. `percentage` runs from 0 to 100; 0 if no interview is counted. */
const statusCount = object('StatusCount', 'How many interviews have one interview status', {
  individuals: wholeNumber('The number of interviews'),
  percentage: z
    .number()
    .min(0)
    .max(100)
    .meta({ description: 'Their part of all interviews that are counted, from 0 to 100' }),
})

const interviewCountByStatus = object(
  'InterviewCountByStatus',
  'Number of interviews per interview status. Interviews with the Ignored status are omitted from the whole response',
  {
    complete: statusCount,
    incomplete: statusCount,
    quota_full: statusCount,
    screen_out: statusCount,
    above_target: statusCount,
    manual_action: statusCount,
    pending_analysis: statusCount,
    speeder: statusCount,
    straightliner: statusCount,
    failed_quality_check: statusCount,
    inappropriate_language: statusCount,
  },
)

/** API document, "Interview status": the keys of `interview_count_by_status`. Ignored is not among them. */
export const INTERVIEW_STATUSES = interviewCountByStatus.keyof().options

export type InterviewStatus = (typeof INTERVIEW_STATUSES)[number]

/** A rate, which has no value if its divisor is zero. */
const rate = (description: string) => z.number().min(0).nullable().optional().meta({ description })

/**
 * API document, "Fieldwork progress". The document leaves open how a rate over zero interviews is shown, or the length of an interview if
 * no interview is complete. So these six fields may be null or left out; the option `emptyRates` decides.
 */
export const fieldworkProgress = object(
  'FieldworkProgress',
  'The fieldwork progress indicators of a survey, or of one of its sample sources',
  {
    sample_size: wholeNumber('Number of expected complete interviews'),
    interviews_count: wholeNumber('Number of complete interviews collected'),
    interview_count_by_status: interviewCountByStatus,
    completion_rate: rate('complete interviews / total sample size'),
    questionnaire_incidence_rate: rate('complete / (complete + screen_out + quota_full + incomplete)'),
    target_incidence_rate: rate('complete / (complete + screen_out)'),
    incidence_rate: rate(
      'complete / (complete + screen_out); same formula as `target_incidence_rate`; replaced by it',
    ).meta({ deprecated: true }),
    drop_out_rate: rate('incomplete interviews / total number of interviews'),
    length_of_interview: wholeNumberOrNull('Median length of a complete interview, in seconds').optional(),
  },
)

export type ProgressResource = DeepReadonly<z.output<typeof fieldworkProgress>>
