/** Answers to requests that the API document does not describe. */
import { integerOf, isObject } from '../json.js'
import type { Answer } from '../read/answer.js'
import type { Evidence } from '../read/evidence.js'
import { paging, progressPath, type Reader } from '../read/reader.js'
import type { Query } from '../read/sender.js'
import { unknownSurveyId } from '../rules/answers.js'
import { FAR_FUTURE } from '../rules/updated-since.js'
import type { Observation } from '../verdict.js'

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

export const QUESTION_OBSERVATIONS: readonly Observation[] = [
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
]
