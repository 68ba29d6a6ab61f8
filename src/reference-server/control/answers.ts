/** What the routes under `/_reference` tell, declared like the resources of the API. */
import { z } from 'zod'
import { ENDPOINTS } from '../api/endpoints.js'
import { faultSchema, faultsSchema } from '../faults/declaration.js'
import { loggedRequest } from '../request-log.js'
import { surveyStatus } from '../resources/enumerations.js'
import { moment, type Shown, text, wholeNumber } from '../resources/fields.js'
import { fieldworkProgress } from '../resources/fieldwork-progress.js'
import { sampleSource } from '../resources/sample-source.js'
import { survey } from '../resources/survey.js'

export const worldTime = z
  .strictObject({
    now: moment("The world's time"),
    clock: text('How fast it goes: `real`, `frozen`, or a factor such as `600x`'),
  })
  .meta({ description: "The world's clock" })

export const requestList = z
  .strictObject({
    requests: z.array(loggedRequest).meta({ description: 'In the order of arrival' }),
    dropped: wholeNumber('How many of the oldest are no longer kept'),
  })
  .meta({ description: 'The requests that the API got, refused ones included' })

/** What is not known before a server runs is taken as given. */
const ANYWHERE = {
  accounts: [],
  paths: ENDPOINTS.map(({ path }) => path),
  hasSurvey: () => true,
}

/** The body of `PUT /_reference/faults`. */
export const declaredFaults = faultsSchema(ANYWHERE).meta({
  description: 'The faults that take the place of all there are',
  examples: [[{ match: { path: '/surveys', page: 2 }, action: { status: 503 } }]],
})

export const toldFaults = z
  .array(
    faultSchema(ANYWHERE).extend({
      matched: wholeNumber('How many requests it matched, those that it let pass included'),
      acted: wholeNumber('How often it acted'),
    }),
  )
  .meta({ description: 'The faults as they stand' })

export const worldChange = z
  .strictObject({
    account: text('Name of the account'),
    survey_id: wholeNumber('ID of the survey'),
    at: moment('When it changes'),
    what: z
      .enum(['created', 'status', 'title', 'project_id', 'source_added', 'source_changed', 'source_removed'])
      .meta({ description: 'What changes' }),
    status: surveyStatus.optional().meta({ description: 'The new status, for `created` and `status`' }),
    sample_source_id: wholeNumber('ID of the source, where `what` is of a source').optional(),
  })
  .meta({ description: 'A change of the world' })

export type WorldChange = Shown<z.output<typeof worldChange>>

export const changeList = z
  .strictObject({ changes: z.array(worldChange).meta({ description: 'In the order of time' }) })
  .meta({ description: 'What changes in the world between two moments' })

export const surveyTruth = survey
  .extend({
    sample_sources: z.array(sampleSource).optional().meta({ description: 'In the order of their list' }),
    fieldwork_progress: fieldworkProgress.optional(),
    sample_source_progress: z
      .record(z.string(), fieldworkProgress)
      .optional()
      .meta({ description: "Progress restricted to each source, by the source's id" }),
  })
  .meta({ description: 'A survey with all that the API tells of it; with `only=surveys` the survey alone' })

/** With everything in it. */
export type SurveyTruth = Shown<Required<z.output<typeof surveyTruth>>>

export const accountTruth = z
  .strictObject({
    name: text('Name of the account'),
    id: wholeNumber('Its Authorization-ID'),
    surveys: z.array(surveyTruth).meta({ description: 'In the order of the survey list' }),
  })
  .meta({ description: 'An account with all that the API tells it' })

export const truth = z
  .strictObject({
    now: moment("The world's time"),
    accounts: z.array(accountTruth).meta({ description: 'One entry each' }),
  })
  .meta({ description: 'Everything that the API would tell at this moment' })
