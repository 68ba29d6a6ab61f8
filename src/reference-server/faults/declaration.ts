/**
 * Declares what a fault may be, in a file, in a call, or in the body of `PUT /_reference/faults`. The error of each wrong
 * value says what to give instead; `problems.ts` makes lines of them.
 */
import { z } from 'zod'
import { give, headers, json, justTrue, queryText, textThat, whole } from './declared-values.js'
import { isPointer } from './merge-patch.js'
import { matchesEndpoint, parsePattern } from './path-pattern.js'

/** The world that a declaration has to fit. */
export interface FaultySurroundings {
  /** Names of the accounts. */
  readonly accounts: readonly string[]
  /** Paths of the endpoints, such as `/surveys/{SURVEY_ID}/sample_sources`. */
  readonly paths: readonly string[]
  /** Whether any account has a survey with this id at any time. */
  hasSurvey(id: number): boolean
}

export type Fault = z.output<ReturnType<typeof faultSchema>>
export type FaultMatch = Fault['match']
export type FaultAction = Fault['action']

const FAULTS_MAX = 1_000
const COUNT_MAX = 1_000_000_000
const DELAY_MS_MAX = 600_000
const TRUNCATE_BYTES_MAX = 1_000_000_000
const NAMED_ACCOUNTS_MAX = 5
/** These answers have no body by HTTP. */
const BODILESS_STATUSES: readonly (number | undefined)[] = [204, 205, 304]

/** Each action has exactly one of these. */
const ACTIONS = ['status', 'delay_ms', 'reset', 'hang', 'truncate', 'garbage', 'patch', 'forget'] as const

/** The keys that belong to only one of them. */
const COMPANIONS = { headers: 'status', body: 'status', at: 'patch' } as const

/** Keys of a fault, of its match and of its action. */
export const FAULT_KEYS = ['match', 'after', 'times', 'probability', 'action'] as const
export const MATCH_KEYS = ['path', 'account', 'page', 'query', 'request'] as const
export const ACTION_KEYS = [...ACTIONS, 'headers', 'body', 'at'] as const

export const faultsSchema = (surroundings: FaultySurroundings) =>
  z
    .array(faultSchema(surroundings), give('a list of faults ([] for none)'))
    .max(FAULTS_MAX, give(`at most ${FAULTS_MAX} faults`))

export const faultSchema = (surroundings: FaultySurroundings) =>
  z.strictObject(
    {
      match: matchSchema(surroundings).optional().default({}),
      after: whole('how many matching requests it lets through first', 0, COUNT_MAX).default(0),
      times: z
        .union([z.literal('always'), z.int().min(1, TIMES).max(COUNT_MAX, TIMES)], TIMES)
        .default(1)
        .meta({ description: 'the most often that it acts' }),
      probability: z
        .number(PROBABILITY)
        .min(0, PROBABILITY)
        .max(1, PROBABILITY)
        .default(1)
        .meta({ description: 'how likely it acts on a matching request; drawn from the seed' }),
      action: actionSchema(surroundings),
    },
    give('an object like {"match": {"path": "/surveys"}, "action": {"status": 503}}'),
  )

const TIMES = give(`how often it acts, a whole number from 1 to ${COUNT_MAX}, or always`)

const PROBABILITY = give('a number from 0 to 1')

const matchSchema = ({ accounts, paths }: FaultySurroundings) =>
  z
    .strictObject(
      {
        path: textThat(
          `a path of the API, such as ${paths.slice(0, 2).join(' or ')}, where * stands for one segment and ** for any number`,
          (text) => {
            const pattern = parsePattern(text)
            return pattern !== null && paths.some((path) => matchesEndpoint(pattern, path))
          },
        ).optional(),
        account: textThat(accountHint(accounts), (name) => accounts.includes(name)).optional(),
        page: whole('the requested page', 1, COUNT_MAX).optional(),
        query: z
          .record(
            z.string(),
            queryText,
            give('an object of parameters and their text, such as {"status[]": "draft"}'),
          )
          .optional(),
        request: whole('the place of the request among all', 1, COUNT_MAX).optional(),
      },
      give(`an object of ${MATCH_KEYS.join(', ')}, or of some of them`),
    )
    .meta({
      description:
        'the requests that it matches; all parts must hold, and without any part it matches every request',
    })

const accountHint = (accounts: readonly string[]): string => {
  const more = accounts.length > NAMED_ACCOUNTS_MAX ? `, … ${accounts.at(-1)}` : ''
  return `the name of an account: ${accounts.slice(0, NAMED_ACCOUNTS_MAX).join(', ')}${more}`
}

const actionSchema = (surroundings: FaultySurroundings) =>
  z
    .strictObject(
      {
        status: whole('the status to answer', 200, 599).optional(),
        headers: headers.optional(),
        body: json('the body to answer').optional(),
        delay_ms: whole('milliseconds', 0, DELAY_MS_MAX).optional(),
        reset: justTrue.optional(),
        hang: justTrue.optional(),
        truncate: whole('how many bytes of the body are sent', 0, TRUNCATE_BYTES_MAX).optional(),
        garbage: justTrue.optional(),
        patch: json('what is merged into the answer').optional(),
        at: textThat(
          'a JSON pointer such as /surveys/*, where * stands for every element or member',
          isPointer,
        ).optional(),
        forget: z
          .int(FORGET)
          .min(0, FORGET)
          .refine((id) => surroundings.hasSurvey(id), FORGET)
          .optional(),
      },
      give(`an object with one of ${ACTIONS.join(', ')}`),
    )
    .check(({ value: action, issues }) => {
      const wrong = (path: string[], message: string) =>
        issues.push({ code: 'custom', message, path, input: action })
      if (ACTIONS.filter((name) => action[name] !== undefined).length !== 1) {
        wrong([], `give exactly one of ${ACTIONS.join(', ')}; declare two faults to have two of them`)
        return
      }
      for (const [name, owner] of Object.entries(COMPANIONS)) {
        if (name in action && action[owner] === undefined)
          wrong([name], `leave it out: it belongs to ${owner}`)
      }
      if (BODILESS_STATUSES.includes(action.status) && action.body !== undefined) {
        wrong(['body'], `leave it out: an answer ${action.status} has no body`)
      }
    })
    .meta({ description: `what is done: one of ${ACTIONS.join(', ')}` })

const FORGET = give('the id of a survey that some account has at some time')
