/** A survey as the API sends it (API document, "Survey"): one line per field, which the compiler checks against the row type. */
import { SURVEY_STATUSES, type Survey, TRANSITION_STYLES } from '../model/fields.js'
import { flatDecoder, type RowDecoder } from './decode.js'
import {
  exactObject,
  integer,
  object,
  orNull,
  type ResponseShape,
  text,
  timestamp,
} from './response-schemas.js'

const shape = {
  id: integer,
  title: text,
  created_at: timestamp,
  updated_at: timestamp,
  hashid: text,
  project_id: orNull(text),
  status: text,
  owner_organization_id: integer,
  transition_style: text,
  respondent_questions_count: integer,
  respondent_iterations_count: integer,
} satisfies ResponseShape<Survey>

export const surveyDecoder: RowDecoder<Survey> = flatDecoder(
  'survey',
  { schema: object(shape), exact: exactObject(shape) },
  { status: SURVEY_STATUSES, transition_style: TRANSITION_STYLES },
)

export const decodeSurvey = surveyDecoder.fromText
