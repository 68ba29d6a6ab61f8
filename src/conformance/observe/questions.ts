/** What is answered to questions that the API document does not provide for. */
import { integerOf, isObject } from '../json.js'
import type { Answer } from '../read/answer.js'
import type { Evidence } from '../read/evidence.js'
import { paging, progressPath } from '../read/reader.js'
import type { Query } from '../read/sender.js'
import { unknownSurveyId } from '../rules/answers.js'
import { FAR_FUTURE } from '../rules/updated-since.js'
import type { Observation } from '../verdict.js'

const ERRORS = 'Errors'

/** An error as it came; a page as far as it says what is silent. */
const describe = ({ status, json, excerpt }: Answer, { reader }: Evidence): string => {
  if (status !== 200 || !isObject(json)) return `${status} ${excerpt}`.trim()
  const { pagination, surveys } = json
  if (!isObject(pagination) || !Array.isArray(surveys)) return '200'
  return `200, ${surveys.length} rows, pagination ${reader.show(pagination, LENGTH_MAX)}`
}

const LENGTH_MAX = 160

const surveys = (
  topic: string,
  section: string,
  queryOf: (evidence: Evidence) => Query | Promise<Query>,
): Observation => ({
  topic,
  section,
  observe: async (evidence) =>
    describe(await evidence.reader.raw('/surveys', await queryOf(evidence)), evidence),
})

const PAST_THE_END = 7

export const QUESTION_OBSERVATIONS: readonly Observation[] = [
  surveys('an empty list', 'Pagination object', () => [['updated_since', FAR_FUTURE]]),
  surveys('a page past the end', 'Limits', async ({ head }) => {
    const { again } = await head()
    return [['page', String(paging(again, 'total_pages') + PAST_THE_END)]]
  }),
  surveys('page=0', 'Limits', () => [['page', '0']]),
  surveys('an unknown status', ERRORS, () => [['status', 'no_such_status']]),
  surveys('a date that is none', ERRORS, () => [['updated_since', 'yesterday']]),
  // A space is written + in a query: this is what a client sends that forgets to write + as %2B.
  surveys('an offset whose + is not written %2B', 'List surveys', () => [
    ['updated_since', '2999-01-01T00:00:00 00:00'],
  ]),
  {
    topic: 'an unknown survey',
    section: ERRORS,
    observe: async (evidence) =>
      describe(await evidence.reader.raw(progressPath(unknownSurveyId(evidence))), evidence),
  },
  {
    topic: 'an unknown sample source',
    section: ERRORS,
    observe: async (evidence) => {
      const [subject] = await evidence.subjects()
      const largest = Math.max(
        ...(subject?.sources.rows.map(({ id }) => integerOf(id) ?? 0) ?? []),
        1_000_000,
      )
      const path = progressPath(subject?.id ?? 0)
      return describe(
        await evidence.reader.raw(path, [['sample_source_id', String(largest + 1_000_003)]]),
        evidence,
      )
    },
  },
  {
    topic: 'a wrong token',
    section: ERRORS,
    observe: async (evidence) => describe(await evidence.reader.raw('/surveys', [], 'wrong_token'), evidence),
  },
]
