/** API document, "Endpoints": what every answer has in common, whatever was asked. */
import { integerOf, isObject } from '../json.js'
import type { Evidence } from '../read/evidence.js'
import { type Endpoint, type EndpointAnswer, progressPath, sourcesPath, surveysSeen } from '../read/reader.js'
import { type Failure, fail, holdEach, PASS, type Rule, unseen, type Verdict } from '../verdict.js'

const answered = ({ reader }: Evidence): readonly EndpointAnswer[] =>
  reader.seen.answers.filter(({ answer }) => answer.status === 200)

/** A record may vanish between two requests; an endpoint that never answers is not there. */
const success: Rule = {
  id: 'answers.success',
  section: 'Endpoints',
  text: 'what the document describes is answered with 200',
  passive: true,
  check: (evidence) => {
    const there = new Set(answered(evidence).map(({ endpoint }) => endpoint))
    const problemOf = ({ endpoint, answer }: EndpointAnswer): Failure | null => {
      const { asked, status, excerpt } = answer
      if (status === 200 || (status === 404 && there.has(endpoint))) return null
      return { asked, expected: '200', got: `${status} ${excerpt}`.trim() }
    }
    return holdEach(evidence.reader.seen.answers, problemOf, 'nothing was answered')
  },
}

const contentType: Rule = {
  id: 'answers.content-type',
  section: 'Endpoints',
  text: 'answers say that they are JSON',
  passive: true,
  check: (evidence) =>
    holdEach(
      answered(evidence),
      ({ answer }) => {
        const type = answer.header('content-type')
        if (type !== null && /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) return null
        const got = type === null ? 'no Content-Type' : evidence.reader.show(type)
        return { asked: answer.asked, expected: 'Content-Type: application/json', got }
      },
      'nothing was answered with 200',
    ),
}

const json: Rule = {
  id: 'answers.json',
  section: 'Endpoints',
  text: 'answers are JSON',
  passive: true,
  check: (evidence) =>
    holdEach(
      answered(evidence),
      ({ answer: { asked, problem } }) =>
        problem === null ? null : { asked, expected: 'JSON', got: problem },
      'nothing was answered with 200',
    ),
}

const SHAPES: Readonly<Record<Endpoint, { readonly section: string; readonly text: string }>> = {
  surveys: { section: 'List surveys', text: 'an object with the array surveys and the object pagination' },
  sample_sources: {
    section: 'List the sample sources of a survey',
    text: 'an object with the array sample_sources and the object pagination',
  },
  fieldwork_progress: {
    section: 'View the fieldwork progress of a survey',
    text: 'an object with the one object fieldwork_progress, and no pagination',
  },
}

const hasShape = (endpoint: Endpoint, body: unknown): boolean => {
  if (!isObject(body)) return false
  if (endpoint === 'fieldwork_progress') return isObject(body.fieldwork_progress) && !('pagination' in body)
  const rows = body[endpoint]
  return Array.isArray(rows) && rows.every(isObject) && isObject(body.pagination)
}

const shape = (endpoint: Endpoint): Rule => {
  const { section, text } = SHAPES[endpoint]
  return {
    id: `answers.${endpoint}`,
    section,
    text,
    passive: true,
    check: (evidence) =>
      holdEach(
        answered(evidence).filter(({ answer }) => answer.problem === null),
        ({ endpoint: ofAnswer, answer }) => {
          if (ofAnswer !== endpoint) return 'skip'
          if (hasShape(endpoint, answer.json)) return null
          const got = isObject(answer.json)
            ? `an object with ${evidence.reader.show(Object.keys(answer.json))}`
            : evidence.reader.show(answer.json)
          return { asked: answer.asked, expected: text, got }
        },
        'the endpoint was not asked, or not answered with 200 and JSON',
      ),
  }
}

/** No service has given out this id yet, if it counts upwards. */
export const unknownSurveyId = ({ reader }: Evidence): number =>
  Math.max(1_000_000, ...surveysSeen(reader).map(({ id }) => integerOf(id) ?? 0)) + 1_000_003

const unknownSurvey = (id: string, section: string, pathOf: (surveyId: number) => string): Rule => ({
  id,
  section,
  text: 'a survey that is not there is not answered with 200',
  check: async (evidence): Promise<Verdict> => {
    const surveyId = unknownSurveyId(evidence)
    if (!Number.isSafeInteger(surveyId)) return unseen('the ids of the surveys leave no room for another one')
    const { asked, status } = await evidence.reader.raw(pathOf(surveyId))
    return status === 200 ? fail(asked, 'a status other than 200', '200') : PASS
  },
})

export const ANSWER_RULES: readonly Rule[] = [
  success,
  contentType,
  json,
  shape('surveys'),
  shape('sample_sources'),
  shape('fieldwork_progress'),
  unknownSurvey('sources.unknown-survey', SHAPES.sample_sources.section, sourcesPath),
  unknownSurvey('progress.unknown-survey', SHAPES.fieldwork_progress.section, progressPath),
]
