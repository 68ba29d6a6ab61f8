/** API document, "Survey", field by field from its table. */
import { z } from 'zod'
import { surveyStatus, transitionStyle } from './enumerations.js'
import { moment, type Shown, text, wholeNumber } from './fields.js'

export const survey = z
  .strictObject({
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
  .meta({ description: 'A survey of the organization' })

export type SurveyResource = Shown<z.output<typeof survey>>
