/**
 * Declares what a fault may be, and which paths it matches. Each kind of value has one error, which says what to give. `read-faults.ts`
 * writes the name of the field and the wrong value before it.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { z } from 'zod'
import { unescaped } from '../../base/secret.js'
import { ENDPOINTS } from '../api/endpoints.js'
import { API_PREFIX } from '../api/operation.js'

/** Whether any account has a survey with this id at any time. */
export type HasSurvey = (id: number) => boolean

export type Fault = z.output<ReturnType<typeof faultSchema>>

const PATHS = ENDPOINTS.map(({ path }) => path)

const FAULTS_MAX = 1_000
const COUNT_MAX = 1_000_000_000
const DELAY_MS_MAX = 600_000
const TRUNCATE_BYTES_MAX = 1_000_000_000
const TEXT_CHARACTERS_MAX = 200

/** Headers that describe the bytes of the body, so only the server writes them. `truncate` cuts a body short. */
const OWN_HEADERS = ['content-length', 'transfer-encoding', 'connection']

const give = (what: string) => ({ error: `give ${what}` })

const whole = (what: string, min: number, max: number) => {
  const error = give(`${what}, a whole number from ${min} to ${max}`)
  return z.int(error).min(min, error).max(max, error).meta({ description: what })
}

const textThat = (what: string, isRight: (text: string) => boolean) =>
  z
    .string(give(what))
    .max(TEXT_CHARACTERS_MAX, give(what))
    .refine(isRight, { ...give(what), abort: true })

const justTrue = z.literal(true, give('true, or leave it out'))

const json = (what: string) =>
  z
    .unknown()
    .transform((value, context): Json => {
      if (isJson(value)) return value
      const { error: message } = give(
        `${what}, anything that is JSON, with at most ${JSON_LEVELS_MAX} levels`,
      )
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    })
    .meta({ description: what })

const HEADER_VALUE = give('the text of a header, without line breaks')

const headers = z
  .record(
    z.string(),
    z
      .union([z.string(), z.number().transform(String)], HEADER_VALUE)
      .refine((value) => succeeds(() => validateHeaderValue('name', value)), HEADER_VALUE),
    give('an object of names and texts, such as {"retry-after": "30"}'),
  )
  .check(({ value, issues }) => {
    for (const name of Object.keys(value)) {
      const own = OWN_HEADERS.includes(name.toLowerCase())
      if (!own && succeeds(() => validateHeaderName(name))) continue
      const reason = own ? 'the server writes it' : 'this is not the name of a header'
      issues.push({ code: 'custom', message: `leave it out: ${reason}`, path: [name], input: value })
    }
  })
  .transform((value) =>
    Object.fromEntries(Object.entries(value).map(([name, text]) => [name.toLowerCase(), text])),
  )
  .meta({ description: 'Headers of the answer' })

export const succeeds = (check: () => void): boolean => {
  try {
    check()
    return true
  } catch {
    return false
  }
}

const BODILESS_STATUSES: readonly (number | undefined)[] = [204, 205, 304]

const ACTIONS = ['status', 'delay_ms', 'reset', 'hang', 'truncate', 'patch', 'forget'] as const

/** Keys that need another key beside them. */
const COMPANIONS = { headers: 'status', body: 'status', at: 'patch' } as const

/** Keys of a fault, of its match and of its action. */
export const FAULT_KEYS = ['match', 'after', 'times', 'probability', 'action'] as const
export const MATCH_KEYS = ['path', 'page'] as const
export const ACTION_KEYS = [...ACTIONS, 'headers', 'body', 'at'] as const

const matchSchema = z
  .strictObject(
    {
      path: textThat(
        `a path of the API, such as ${PATHS.slice(0, 2).join(' or ')}, where * stands for one segment and ** for any number`,
        (text) => isPattern(text) && PATHS.some((path) => matchesPath(text, path)),
      ).optional(),
      page: whole('the requested page', 1, COUNT_MAX).optional(),
    },
    give(`an object of ${MATCH_KEYS.join(', ')}, or of some of them`),
  )
  .meta({
    description:
      'the requests that it matches; all parts must hold, and without any part it matches every request',
  })

export const faultsSchema = (hasSurvey: HasSurvey) =>
  z
    .array(faultSchema(hasSurvey), give('a list of faults ([] for none)'))
    .max(FAULTS_MAX, give(`at most ${FAULTS_MAX} faults`))

export const faultSchema = (hasSurvey: HasSurvey) =>
  z.strictObject(
    {
      match: matchSchema.optional().default({}),
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
      action: actionSchema(hasSurvey),
    },
    give('an object like {"match": {"path": "/surveys"}, "action": {"status": 503}}'),
  )

const TIMES = give(`how often it acts, a whole number from 1 to ${COUNT_MAX}, or always`)

const PROBABILITY = give('a number from 0 to 1')

const actionSchema = (hasSurvey: HasSurvey) =>
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
        patch: json('what is merged into the answer').optional(),
        at: textThat(
          'a JSON pointer such as /surveys/*, where * stands for every element or member',
          isPointer,
        ).optional(),
        forget: z
          .int(FORGET)
          .min(0, FORGET)
          .refine((id) => hasSurvey(id), FORGET)
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

/**
 * Whether the pattern of a fault matches the path of a request, percent-encoded, or of an endpoint, both with or without `/api/v1`. `*` (or
 * `{SURVEY_ID}`) is one segment and `**` any number of them.
 */
export const matchesPath = (pattern: string, path: string): boolean =>
  fits(segmentsOf(pattern), segmentsOf(path).map(unescaped))

const isPattern = (text: string): boolean =>
  text.startsWith('/') &&
  segmentsOf(text).every((segment) => !segment.includes('*') || /^\*\*?$/.test(segment))

const fits = (pattern: readonly string[], path: readonly string[]): boolean => {
  const [wanted, ...others] = pattern
  if (wanted === undefined) return path.length === 0
  const [segment, ...rest] = path
  if (wanted === '**') return fits(others, path) || (segment !== undefined && fits(pattern, rest))
  const isSame = wanted === '*' || segment === '*' || wanted === segment
  return segment !== undefined && isSame && fits(others, rest)
}

const segmentsOf = (path: string): readonly string[] =>
  (path === API_PREFIX || path.startsWith(`${API_PREFIX}/`) ? path.slice(API_PREFIX.length) : path)
    .split('/')
    .slice(1)
    .map((segment) => (/^\{\w+\}$/.test(segment) ? '*' : segment))

export type Json = z.output<ReturnType<typeof z.json>>

const JSON_LEVELS_MAX = 100

/** Whether `value` can be written as JSON with at most `levelsMax` levels; a value from YAML may contain itself. */
const isJson = (value: unknown, levelsMax = JSON_LEVELS_MAX): value is Json => {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (levelsMax === 0 || typeof value !== 'object') return false
  return Object.values(value).every((part) => isJson(part, levelsMax - 1))
}

const isPointer = (text: string): boolean => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text)
