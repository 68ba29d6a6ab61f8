/** Observations of answers: to requests that the API document does not describe and to those beyond the cap; headers and connections. */
import type { Answer } from '../read/answer.js'
import type { Evidence } from '../read/evidence.js'
import { paging, progressPath, type Reader } from '../read/reader.js'
import type { Query } from '../read/sender.js'
import type { Observation } from '../rule.js'
import { unknownSurveyId } from '../rules/answers.js'
import { FAR_FUTURE } from '../rules/updated-since.js'
import { integerOf, isObject } from '../values.js'

const ERRORS = 'Errors'

const PAGE_LENGTH_MAX = 160

/** An error as it came; of a page what the document leaves open. */
const describe = ({ status, json, excerpt }: Answer, { show }: Reader): string => {
  if (status !== 200 || !isObject(json)) return `${status} ${excerpt}`.trim()
  const { pagination, surveys } = json
  if (!isObject(pagination) || !Array.isArray(surveys)) return '200'
  return `200, ${surveys.length} rows, pagination ${show(pagination, PAGE_LENGTH_MAX)}`
}

const question = (
  topic: string,
  section: string,
  ask: (evidence: Evidence) => Promise<Answer>,
): Observation => ({
  topic,
  section,
  observe: async (evidence) => describe(await ask(evidence), evidence.reader),
})

const surveys = (topic: string, section: string, ...query: Query): Observation =>
  question(topic, section, ({ reader }) => reader.raw('/surveys', query))

const PAST_THE_END = 7

/** How far the service's clock is from ours. */
const observeDate = ({ reader: { seen } }: Evidence): string => {
  const distancesMs = seen.answers.flatMap(({ dateMs, sentAtMs, headersAtMs }) =>
    // The date is cut to its second, and we take it for written halfway between request and answer.
    dateMs === null ? [] : [dateMs + 500 - (sentAtMs + headersAtMs) / 2],
  )
  if (distancesMs.length === 0) return 'none, or not an HTTP date'
  const medianMs = distancesMs.sort((a, b) => a - b)[distancesMs.length >> 1] ?? 0
  const seconds = Math.round(medianMs / 1_000)
  const distance =
    seconds === 0
      ? 'within a second of our clock'
      : `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} our clock`
  return `in ${distancesMs.length} of ${seen.answers.length} answers, ${distance}`
}

export const ANSWER_OBSERVATIONS: readonly Observation[] = [
  surveys('an empty list', 'Pagination object', ['updated_since', FAR_FUTURE]),
  question('a page past the end', 'Limits', async ({ head, reader }) => {
    const { again } = await head()
    return await reader.raw('/surveys', [['page', String(paging(again, 'total_pages') + PAST_THE_END)]])
  }),
  surveys('page=0', 'Limits', ['page', '0']),
  surveys('an unknown status', ERRORS, ['status', 'no_such_status']),
  surveys('an invalid date', ERRORS, ['updated_since', 'yesterday']),
  // A space is written + in a query. A client that does not write + as %2B sends this.
  surveys('an offset with + instead of %2B', 'List surveys', ['updated_since', '2999-01-01T00:00:00 00:00']),
  question('an unknown survey', ERRORS, ({ reader }) => reader.raw(progressPath(unknownSurveyId(reader)))),
  question('an unknown sample source', ERRORS, async ({ reader, subjects }) => {
    const [subject] = await subjects()
    const ids = subject?.sources.rows.map(({ id }) => integerOf(id) ?? 0) ?? []
    const unknownId = Math.max(...ids, 1_000_000) + 1_000_003
    return await reader.raw(progressPath(subject?.id ?? 0), [['sample_source_id', String(unknownId)]])
  }),
  question('a wrong token', ERRORS, ({ reader }) => reader.raw('/surveys', [], 'wrong-token')),
  { topic: 'Date header', section: 'Endpoints', observe: observeDate },
  {
    topic: 'compression',
    section: 'Endpoints',
    observe: ({ reader: { seen, show } }) => {
      const codings = seen.answers.flatMap(({ header }) => header('content-encoding') ?? [])
      if (codings.length === 0) return 'none, though gzip was offered'
      const different = new Set(codings.map((coding) => show(coding)))
      return `${[...different].join(', ')} in ${codings.length} of ${seen.answers.length} answers`
    },
  },
  {
    topic: 'keep-alive',
    section: 'Endpoints',
    observe: ({ sender }) => {
      const { connections, requestsWithCredentials } = sender.usage()
      return `${requestsWithCredentials} requests over ${connections} ${connections === 1 ? 'connection' : 'connections'}`
    },
  },
  {
    topic: 'rate-limit headers',
    section: 'Limits',
    observe: ({ reader: { seen } }) => seen.answers.at(-1)?.rateHeaders.join('; ') || 'none',
  },
  {
    topic: 'answers 429 below the cap',
    section: 'Limits',
    last: true,
    observe: ({ sender }) => {
      const { refusals } = sender.usage()
      if (refusals === 0) return 'none'
      return `${refusals}, waited out: somebody else uses the account, or its cap is lower`
    },
  },
  {
    topic: 'a 429 answer',
    section: 'Errors',
    last: true,
    observe: async ({ burst }) => {
      const { sent, last } = await burst()
      if (last.status !== 429) return `none in ${sent} requests at once`
      const headers = last.rateHeaders.join('; ') || 'no Retry-After'
      return `within ${sent} requests at once; ${headers}; body ${last.excerpt}`
    },
  },
]
