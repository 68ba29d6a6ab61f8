/** A survey as the API sends it (API document, "Survey"): one line a field, held to the row type by the compiler. */
import { SURVEY_STATUSES, type Survey, TRANSITION_STYLES } from '../model/fields.js'
import {
  type Decoded,
  decodeRow,
  extraOf,
  unknownFieldDrift,
  unknownMembers,
  unknownValueDrift,
} from './decode.js'
import { integer, object, orNull, type ResponseShape, text, timestamp } from './response-schemas.js'

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

const schema = object(shape)

/** Decodes the JSON text of one survey. Never throws on text that is JSON. */
export const decodeSurvey = (raw: string): Decoded<Survey> =>
  decodeRow('survey', raw, schema, (fields, json) => {
    const unknown = unknownMembers(json, shape)
    return {
      row: { ...fields, _extra: extraOf(unknown) },
      drift: [
        ...unknownFieldDrift('survey', unknown.keys()),
        ...unknownValueDrift('survey', 'status', fields.status, SURVEY_STATUSES),
        ...unknownValueDrift('survey', 'transition_style', fields.transition_style, TRANSITION_STYLES),
      ],
    }
  })
