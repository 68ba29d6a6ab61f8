/**
 * Declares the routes under `/_reference` for the OpenAPI document and the docs page. None needs credentials, counts
 * against the cap or appears in the request log. `control/routes.ts` serves them.
 */
import { z } from 'zod'
import type { Operation } from '../api/endpoint.js'
import { momentParameter } from '../api/parameters.js'
import { changeList, countedFaults, declaredFaults, requestList, truth, worldTime } from './answers.js'
import { timeSetting } from './set-time.js'

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

export const CONTROL_OPERATIONS: readonly ControlOperation[] = [
  {
    method: 'get',
    path: '/time',
    operationId: 'readTime',
    summary: "Read the world's clock",
    description: "The moment that the API's answers describe.",
    answer: worldTime,
  },
  {
    method: 'post',
    path: '/time',
    operationId: 'moveTime',
    summary: "Move the world's clock",
    description: 'Forward by a duration, or to any moment, also an earlier one. The world moves with it.',
    body: timeSetting,
    answer: worldTime,
    refusals: { 400: 'Neither a duration nor a moment, or one that is out of reach of the clock' },
  },
  {
    method: 'get',
    path: '/requests',
    operationId: 'listRequests',
    summary: 'List the requests that reached the API',
    description: 'Each arrival under `/api/v1` with its real time, including refused ones.',
    answer: requestList,
  },
  {
    method: 'delete',
    path: '/requests',
    operationId: 'forgetRequests',
    summary: 'Clear the list of requests',
    description: 'The list starts again from empty.',
    answer: requestList,
  },
  {
    method: 'get',
    path: '/faults',
    operationId: 'listFaults',
    summary: 'List the faults',
    description: 'As declared, completed by the defaults, with how often each matched and acted.',
    answer: countedFaults,
  },
  {
    method: 'put',
    path: '/faults',
    operationId: 'replaceFaults',
    summary: 'Replace all faults',
    description: 'Counting starts again from 0, and forgotten surveys come back.',
    body: declaredFaults,
    answer: countedFaults,
    refusals: {
      400: 'Faults that cannot be used, a line for each problem; nothing is replaced',
      413: 'More than 1 MiB',
    },
  },
  {
    method: 'delete',
    path: '/faults',
    operationId: 'removeFaults',
    summary: 'Remove all faults',
    description: 'Forgotten surveys come back.',
    answer: countedFaults,
  },
  {
    method: 'get',
    path: '/truth',
    operationId: 'readTruth',
    summary: 'Read everything that the API shows at this moment',
    description: 'Without pages, filters and cap: a test compares its tables with it.',
    query: z.object({
      account,
      only: z.enum(['surveys']).optional().meta({ description: '`surveys` leaves out sources and progress' }),
    }),
    answer: truth,
    refusals: { 404: NO_ACCOUNT },
  },
  {
    method: 'get',
    path: '/changes',
    operationId: 'listChanges',
    summary: 'List what changes in the world between two moments',
    description:
      'Past or future, so that a test can find a survey that changes while it runs. Interviews are left out.',
    query: changesQuery,
    answer: changeList,
    refusals: { 400: 'A bound is missing or not a moment, or there are too many changes', 404: NO_ACCOUNT },
  },
  {
    method: 'get',
    path: '/openapi.json',
    operationId: 'readOpenApi',
    summary: 'Read this document',
    description: 'OpenAPI 3.1, made from the declarations by which requests are parsed.',
    answer: z.looseObject({ openapi: z.string() }).meta({ description: 'This document' }),
  },
  {
    method: 'get',
    path: '/docs',
    operationId: 'readDocs',
    summary: 'Read the documentation of the API and this server',
    description: 'This document for people, with examples from this world; `/_reference` redirects to it.',
    contentType: 'text/html',
    answer: z.string().meta({ description: 'HTML' }),
  },
]
