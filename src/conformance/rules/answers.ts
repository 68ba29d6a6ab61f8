/** API document, "Authentication", "Endpoints", "Errors" and "Limits": which requests are answered, and the form of all answers. */
import { integerOf, isObject } from '../fields.js'
import { type Endpoint, progressPath, type Reader, sourcesPath, surveysSeen } from '../read/reader.js'
import type { Credentials } from '../read/sender.js'
import { each, type Rule } from '../rule.js'
import { fail, PASS, Unseen } from '../verdict.js'

/** Every request must carry both headers, and without them no data is shown. */
const refused = (credentials: Credentials, how: string): Rule => ({
  id: `authentication.${credentials}`,
  section: 'Authentication',
  text: `a request ${how} is refused`,
  check: async ({ reader }) => {
    const { request, status, json } = await reader.raw('/surveys', [], credentials)
    const surveys = isObject(json) ? json.surveys : null
    if (status !== 200 && !Array.isArray(surveys)) return PASS
    const got = Array.isArray(surveys) ? `${status} with ${surveys.length} surveys` : '200'
    return fail(`${request} ${how}`, 'a status other than 200, and no data', got)
  },
})

const answered = ({ seen }: Reader) => seen.answers.filter(({ status }) => status === 200)

const SECTIONS = {
  surveys: 'List surveys',
  sample_sources: 'List the sample sources of a survey',
  fieldwork_progress: 'View the fieldwork progress of a survey',
} as const satisfies Readonly<Record<Endpoint, string>>

const hasShape = (endpoint: Endpoint, body: unknown): boolean => {
  if (!isObject(body)) return false
  if (endpoint === 'fieldwork_progress') return isObject(body.fieldwork_progress) && !('pagination' in body)
  const rows = body[endpoint]
  return Array.isArray(rows) && rows.every(isObject) && isObject(body.pagination)
}

const shape = (endpoint: Endpoint, expected: string): Rule =>
  each({
    id: `answers.${endpoint}`,
    section: SECTIONS[endpoint],
    text: `the answer is ${expected}`,
    items: (reader) =>
      answered(reader).filter((answer) => answer.endpoint === endpoint && answer.problem === null),
    judge: ({ request, json }, { show }) => {
      if (hasShape(endpoint, json)) return PASS
      const got = isObject(json) ? `an object with ${show(Object.keys(json))}` : show(json)
      return fail(request, expected, got)
    },
    nothing: 'no request to the endpoint was answered with 200 and JSON',
  })

/** An id that the service has not given out yet, if it counts upwards. */
export const unknownSurveyId = (reader: Reader): number =>
  Math.max(1_000_000, ...surveysSeen(reader).map(({ id }) => integerOf(id) ?? 0)) + 1_000_003

const unknownSurvey = (id: string, section: string, pathOf: (surveyId: number) => string): Rule => ({
  id,
  section,
  text: 'a request for an unknown survey is not answered with 200',
  check: async ({ reader }) => {
    const surveyId = unknownSurveyId(reader)
    if (!Number.isSafeInteger(surveyId)) {
      throw new Unseen('the survey ids are too large to choose an unknown one')
    }
    const { request, status } = await reader.raw(pathOf(surveyId))
    return status === 200 ? fail(request, 'a status other than 200', '200') : PASS
  },
})

export const ANSWER_RULES: readonly Rule[] = [
  refused('none', 'without Authorization-ID and Authorization-Token'),
  refused('id-only', 'without Authorization-Token'),
  refused('token-only', 'without Authorization-ID'),
  refused('wrong-token', 'with a wrong Authorization-Token'),
  each({
    id: 'answers.success',
    section: 'Endpoints',
    text: 'requests that the document describes are answered with 200',
    items: ({ seen }) => seen.answers,
    judge: ({ endpoint, request, status, excerpt }, reader) => {
      // A record may vanish between two requests. An endpoint that always answers 404 is missing.
      const hasVanished = status === 404 && answered(reader).some((answer) => answer.endpoint === endpoint)
      return status === 200 || hasVanished ? PASS : fail(request, '200', `${status} ${excerpt}`.trim())
    },
    nothing: 'no request was answered',
  }),
  each({
    id: 'answers.content-type',
    section: 'Endpoints',
    text: 'the Content-Type of answers is JSON',
    items: answered,
    judge: ({ request, header }, { show }) => {
      const type = header('content-type')
      if (type !== null && /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) return PASS
      return fail(request, 'Content-Type: application/json', type === null ? 'no Content-Type' : show(type))
    },
    nothing: 'no request was answered with 200',
  }),
  each({
    id: 'answers.json',
    section: 'Endpoints',
    text: 'answers are JSON',
    items: answered,
    judge: ({ request, problem }) => (problem === null ? PASS : fail(request, 'JSON', problem)),
    nothing: 'no request was answered with 200',
  }),
  shape('surveys', 'an object with the array surveys and the object pagination'),
  shape('sample_sources', 'an object with the array sample_sources and the object pagination'),
  shape('fieldwork_progress', 'an object with the one object fieldwork_progress, and no pagination'),
  unknownSurvey('sources.unknown-survey', SECTIONS.sample_sources, sourcesPath),
  unknownSurvey('progress.unknown-survey', SECTIONS.fieldwork_progress, progressPath),
]

/** Above the cap the service answers 429. Checked with --exceed-cap only. */
export const LIMIT_RULES: readonly Rule[] = [
  {
    id: 'limits.refusal',
    section: 'Limits',
    text: 'requests beyond the cap are answered with 429',
    when: 'last',
    check: async ({ burst }) => {
      const { sent, last } = await burst()
      if (last.status === 429) return PASS
      if (last.status !== 200) return fail(`${sent} requests at once`, '200, then 429', `${last.status}`)
      throw new Unseen(`${sent} requests at once were all answered: the cap of this account is higher`)
    },
  },
]
