/** The enumerations of the API document with their meanings, in the order of its tables. */
import { z } from 'zod'

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

export type SurveyStatus = (typeof SURVEY_STATUSES)[number]

const SURVEY_STATUS_MEANINGS: Readonly<Record<SurveyStatus, string>> = {
  draft: 'The survey is being created',
  pending: 'Check before fieldwork opens; a soft launch is possible',
  fieldwork: 'Fieldwork is running',
  deviating_from_specs: 'Fieldwork is paused because of deviations from the audience order specifications',
  data_processing: 'Data processing is running on the survey',
  complete: 'The survey is complete',
  user_demo: 'The survey is for demonstration purposes only',
}

export const surveyStatus = z
  .enum(SURVEY_STATUSES, { error: `give one of ${SURVEY_STATUSES.join(', ')}` })
  .meta({ description: 'Status of a survey', 'x-enumDescriptions': SURVEY_STATUS_MEANINGS })

/** API document, "Sample source", `provider`. */
export const PROVIDERS = ['panel', 'client_sample', 'social_networks', 'data_import'] as const

export type Provider = (typeof PROVIDERS)[number]

export const provider = z.enum(PROVIDERS).meta({ description: 'Type of provider of a sample source' })

/** API document, "Survey", `transition_style`. */
export const TRANSITION_STYLES = ['single_page', 'multiple_pages'] as const

type TransitionStyle = (typeof TRANSITION_STYLES)[number]

const TRANSITION_STYLE_MEANINGS: Readonly<Record<TransitionStyle, string>> = {
  single_page: 'One page: each new question appears once the previous one is answered, as in a conversation',
  multiple_pages: 'Several pages: each new question appears on a new page',
}

export const transitionStyle = z
  .enum(TRANSITION_STYLES)
  .meta({ description: 'Questionnaire display mode', 'x-enumDescriptions': TRANSITION_STYLE_MEANINGS })
