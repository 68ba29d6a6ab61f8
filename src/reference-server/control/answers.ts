/** The answers of the routes under `/_reference`, declared like the resources of the API. */
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
    clock: text('Its speed: `real`, `frozen`, or a factor such as `600x`'),
  })
  .meta({ description: "The world's clock" })

export const requestList = z
  .strictObject({
    requests: z.array(loggedRequest).meta({ description: 'In the order of arrival' }),
    dropped: wholeNumber('How many of the oldest were dropped'),
  })
  .meta({ description: 'The requests that reached the API, including refused ones' })

/** The schemas are the same for every world, so any world will do. */
const ANYWHERE = {
  accounts: [],
  paths: ENDPOINTS.map(({ path }) => path),
  hasSurvey: () => true,
}

/** The body of `PUT /_reference/faults`. */
export const declaredFaults = faultsSchema(ANYWHERE).meta({
  description: 'The faults that replace all others',
  examples: [[{ match: { path: '/surveys', page: 2 }, action: { status: 503 } }]],
})

export const countedFaults = z
  .array(
    faultSchema(ANYWHERE).extend({
      matched: wholeNumber('How many requests it matched, including those on which it did not act'),
      acted: wholeNumber('How often it acted'),
    }),
  )
  .meta({ description: 'The faults as declared, with how often each matched and acted' })

export const worldChange = z
  .strictObject({
    account: text('Name of the account'),
    survey_id: wholeNumber('ID of the survey'),
    at: moment('When it changes'),
    what: z
      .enum(['created', 'status', 'title', 'project_id', 'source_added', 'source_changed', 'source_removed'])
      .meta({ description: 'What changes' }),
    status: surveyStatus.optional().meta({ description: 'The new status, for `created` and `status`' }),
    sample_source_id: wholeNumber('ID of the source, where a source changes').optional(),
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
  .meta({
    description: 'A survey with everything that the API shows of it; with `only=surveys`, the survey alone',
  })

/** Without `only=surveys`. */
export type SurveyTruth = Shown<Required<z.output<typeof surveyTruth>>>

export const accountTruth = z
  .strictObject({
    name: text('Name of the account'),
    id: wholeNumber('Its Authorization-ID'),
    surveys: z.array(surveyTruth).meta({ description: 'In the order of the survey list' }),
  })
  .meta({ description: 'An account with everything that the API shows it' })

export const truth = z
  .strictObject({
    now: moment("The world's time"),
    accounts: z.array(accountTruth).meta({ description: 'One entry for each account' }),
  })
  .meta({ description: 'Everything that the API shows at this moment' })
