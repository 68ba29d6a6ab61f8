/**
 * Declares the routes under `/_reference` for the OpenAPI document and the docs page, with their answers like the resources
 * of the API. None needs credentials, counts against the cap or appears in the request log. `control/routes.ts` serves them.
 */
import { z } from 'zod'
import { momentParameter, type Operation } from '../api/operation.js'
import { faultSchema, faultsSchema } from '../faults/declaration.js'
import { loggedRequest } from '../request-log.js'
import {
  type DeepReadonly,
  fieldworkProgress,
  moment,
  object,
  sampleSource,
  survey,
  surveyStatus,
  text,
  wholeNumber,
} from '../resources.js'

export const worldTime = object("The world's clock", {
  now: moment("The world's time"),
  clock: text('Its speed: `real`, `frozen`, or a factor such as `600x`'),
})

/** The body of `POST /_reference/time`. */
export const timeSetting = z
  .union([
    z.strictObject({
      advance: text(
        'How far to move forward: an ISO 8601 duration of weeks, days, hours, minutes and seconds',
      ),
    }),
    z.strictObject({ set: moment('The new time, later or earlier') }),
  ])
  .meta({ description: 'How to move the clock', examples: [{ advance: 'PT6H' }] })

export const requestList = object('The requests that reached the API, including refused ones', {
  requests: z.array(loggedRequest).meta({ description: 'In the order of arrival' }),
  dropped: wholeNumber('How many of the oldest were dropped'),
})

/** The schemas are the same for every world, so any world will do. */
const ANYWHERE = () => true

/** The body of `PUT /_reference/faults`. */
const declaredFaults = faultsSchema(ANYWHERE).meta({
  description: 'The faults that replace all others',
  examples: [[{ match: { path: '/surveys', page: 2 }, action: { status: 503 } }]],
})

const countedFaults = z
  .array(
    faultSchema(ANYWHERE).extend({
      matched: wholeNumber('How many requests it matched, including those on which it did not act'),
      acted: wholeNumber('How often it acted'),
    }),
  )
  .meta({ description: 'The faults as declared, with how often each matched and acted' })

export const worldChange = object('A change of the world', {
  account: text('Name of the account'),
  survey_id: wholeNumber('ID of the survey'),
  at: moment('When it changes'),
  what: z
    .enum(['created', 'status', 'title', 'project_id', 'source_added', 'source_changed', 'source_removed'])
    .meta({ description: 'What changes' }),
  status: surveyStatus.optional().meta({ description: 'The new status, for `created` and `status`' }),
  sample_source_id: wholeNumber('ID of the source, where a source changes').optional(),
})

export type WorldChange = DeepReadonly<z.output<typeof worldChange>>

export const changeList = object('What changes in the world between two moments', {
  changes: z.array(worldChange).meta({ description: 'In the order of time' }),
})

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

export const accountTruth = object('An account with everything that the API shows it', {
  name: text('Name of the account'),
  id: wholeNumber('Its Authorization-ID'),
  surveys: z.array(surveyTruth).meta({ description: 'In the order of the survey list' }),
})

export const truth = object('Everything that the API shows at this moment', {
  now: moment("The world's time"),
  accounts: z.array(accountTruth).meta({ description: 'One entry for each account' }),
})

export interface ControlOperation extends Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  readonly body?: z.ZodType
  /** The type of an answer 200, where it is not JSON. */
  readonly contentType?: 'text/html'
}

const account = z.string().optional().meta({ description: 'Name of the only account to show' })

export const changesQuery = z.object({
  account,
  from: momentParameter('Shows changes after this moment'),
  to: momentParameter('Shows changes up to and including this moment'),
})

const NO_ACCOUNT = 'There is no such account'

const operation = (
  method: ControlOperation['method'],
  path: string,
  operationId: string,
  declared: Omit<ControlOperation, 'method' | 'path' | 'operationId'>,
): ControlOperation => ({ method, path, operationId, ...declared })

export const CONTROL_OPERATIONS: readonly ControlOperation[] = [
  operation('get', '/time', 'readTime', {
    summary: "Read the world's clock",
    description: "The moment that the API's answers describe.",
    answer: worldTime,
  }),
  operation('post', '/time', 'moveTime', {
    summary: "Move the world's clock",
    description: 'Forward by a duration, or to any moment, also an earlier one. The world moves with it.',
    body: timeSetting,
    answer: worldTime,
    refusals: { 400: 'Neither a duration nor a moment, or one that is out of reach of the clock' },
  }),
  operation('get', '/requests', 'listRequests', {
    summary: 'List the requests that reached the API',
    description: 'Each arrival under `/api/v1` with its real time, including refused ones.',
    answer: requestList,
  }),
  operation('delete', '/requests', 'forgetRequests', {
    summary: 'Clear the list of requests',
    description: 'The list starts again from empty.',
    answer: requestList,
  }),
  operation('get', '/faults', 'listFaults', {
    summary: 'List the faults',
    description: 'As declared, completed by the defaults, with how often each matched and acted.',
    answer: countedFaults,
  }),
  operation('put', '/faults', 'replaceFaults', {
    summary: 'Replace all faults',
    description: 'Counting starts again from 0, and forgotten surveys come back.',
    body: declaredFaults,
    answer: countedFaults,
    refusals: {
      400: 'Faults that cannot be used, a line for each problem; nothing is replaced',
      413: 'More than 1 MiB',
    },
  }),
  operation('delete', '/faults', 'removeFaults', {
    summary: 'Remove all faults',
    description: 'Forgotten surveys come back.',
    answer: countedFaults,
  }),
  operation('get', '/truth', 'readTruth', {
    summary: 'Read everything that the API shows at this moment',
    description: 'Without pages, filters and cap: a test compares its tables with it.',
    query: z.object({
      account,
      only: z.enum(['surveys']).optional().meta({ description: '`surveys` leaves out sources and progress' }),
    }),
    answer: truth,
    refusals: { 404: NO_ACCOUNT },
  }),
  operation('get', '/changes', 'listChanges', {
    summary: 'List what changes in the world between two moments',
    description:
      'Past or future, so that a test can find a survey that changes while it runs. Interviews are left out.',
    query: changesQuery,
    answer: changeList,
    refusals: { 400: 'A bound is missing or not a moment, or there are too many changes', 404: NO_ACCOUNT },
  }),
  operation('get', '/openapi.json', 'readOpenApi', {
    summary: 'Read this document',
    description: 'OpenAPI 3.1, made from the declarations by which requests are parsed.',
    answer: z.looseObject({ openapi: z.string() }).meta({ description: 'This document' }),
  }),
  operation('get', '/docs', 'readDocs', {
    summary: 'Read the documentation of the API and this server',
    description: 'This document for people, with examples from this world; `/_reference` redirects to it.',
    contentType: 'text/html',
    answer: z.string().meta({ description: 'HTML' }),
  }),
]
