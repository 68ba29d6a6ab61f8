/**
 * The routes under `/_reference`, declared for the OpenAPI document and the docs page: none asks for credentials,
 * counts against the cap or is in the request log. `control/routes.ts` serves them.
 */
import { z } from 'zod'
import { momentParameter } from '../api/parameters.js'
import { changeList, declaredFaults, requestList, toldFaults, truth, worldTime } from './answers.js'
import { timeWish } from './set-time.js'

export interface ControlOperation {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** Below `/_reference`. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** The body of an answer 200: JSON, unless `contentType` says otherwise. */
  readonly answer: z.ZodType
  readonly contentType?: 'text/html'
  /** The other statuses, each with when it is answered. */
  readonly refusals?: Readonly<Record<number, string>>
}

const account = z.string().optional().meta({ description: 'Name of the one account to tell of' })

export const changesQuery = z.object({
  account,
  from: momentParameter('Tells what changes after this moment'),
  to: momentParameter('Tells what changes up to and including this moment'),
})

const NO_ACCOUNT = 'There is no such account'

export const CONTROL_OPERATIONS: readonly ControlOperation[] = [
  {
    method: 'get',
    path: '/time',
    operationId: 'readTime',
    summary: "Read the world's clock",
    description: "The moment that the API's answers are of.",
    answer: worldTime,
  },
  {
    method: 'post',
    path: '/time',
    operationId: 'moveTime',
    summary: "Move the world's clock",
    description: 'Forward by a duration, or to any moment, earlier ones too. The world moves with it.',
    body: timeWish,
    answer: worldTime,
    refusals: { 400: 'Neither a duration nor a moment, or one that the clock does not reach' },
  },
  {
    method: 'get',
    path: '/requests',
    operationId: 'listRequests',
    summary: 'List the requests that the API got',
    description: 'Each arrival under `/api/v1` with its real time, refused ones included.',
    answer: requestList,
  },
  {
    method: 'delete',
    path: '/requests',
    operationId: 'forgetRequests',
    summary: 'Forget the requests that the API got',
    description: 'Begins the list anew.',
    answer: requestList,
  },
  {
    method: 'get',
    path: '/faults',
    operationId: 'listFaults',
    summary: 'List the faults',
    description: 'As they stand, what was left out included, with how often each matched and acted.',
    answer: toldFaults,
  },
  {
    method: 'put',
    path: '/faults',
    operationId: 'replaceFaults',
    summary: 'Replace all faults',
    description: 'Counting begins anew, and forgotten surveys come back.',
    body: declaredFaults,
    answer: toldFaults,
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
    answer: toldFaults,
  },
  {
    method: 'get',
    path: '/truth',
    operationId: 'readTruth',
    summary: 'Read everything that the API would tell at this moment',
    description: 'Past paging, filters and the cap: what a test holds its tables against.',
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
      'Past or future: how a test finds a survey that changes while it looks. Interviews are left out.',
    query: changesQuery,
    answer: changeList,
    refusals: { 400: 'A bound is missing or not a moment, or there are too many changes', 404: NO_ACCOUNT },
  },
  {
    method: 'get',
    path: '/openapi.json',
    operationId: 'readOpenApi',
    summary: 'Read this document',
    description: 'OpenAPI 3.1, made from the declarations that requests are read by.',
    answer: z.looseObject({ openapi: z.string() }).meta({ description: 'This document' }),
  },
  {
    method: 'get',
    path: '/docs',
    operationId: 'readDocs',
    summary: 'Read about the API and this server',
    description: 'This document for people, with examples from this world; `/_reference` leads to it.',
    contentType: 'text/html',
    answer: z.string().meta({ description: 'HTML' }),
  },
]
