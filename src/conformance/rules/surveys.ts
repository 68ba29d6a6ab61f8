/** API document, "Survey" and "List surveys": the fields, the default page, one organization, and the order of all lists. */
import { formatMoment, parseMoment, SURVEY_FIELDS } from '../fields.js'
import { stablePages } from '../read/evidence.js'
import type { ListReading } from '../read/reader.js'
import { each, fieldRules, type Rule, surveyRecords } from '../rule.js'
import { fail, PASS, Unseen } from '../verdict.js'
import { sameAsPageOne } from './pagination.js'

/** API document, "What the service does". */
const ORDER = 'sorted by created_at, most recent first'

/** Null if a moment cannot be read, which other rules report. */
const createdOf = ({ rows }: ListReading): readonly bigint[] | null => {
  const moments = rows.flatMap(({ created_at }) => parseMoment(created_at)?.micros ?? [])
  return moments.length === rows.length ? moments : null
}

const within = (
  id: string,
  section: string,
  lists: string,
  isMeant: (reading: ListReading) => boolean,
): Rule =>
  each({
    id,
    section,
    text: `${lists} is ${ORDER}`,
    items: ({ seen }) => seen.lists.filter(isMeant),
    judge: (reading) => {
      const created = createdOf(reading)
      // The order of rows with the same moment is free.
      if (created === null || new Set(created).size < 2) return null
      const rowIndex = created.findIndex((at, index) => index > 0 && at > (created[index - 1] ?? at))
      if (rowIndex === -1) return PASS
      const [before, after] = [created[rowIndex - 1] ?? 0n, created[rowIndex] ?? 0n].map((at) =>
        formatMoment(at),
      )
      return fail(
        reading.request,
        ORDER,
        `row ${rowIndex} was created at ${before}, row ${rowIndex + 1} at ${after}`,
      )
    },
    nothing: 'no list with two different moments was seen',
  })

const isOfSurveys = ({ endpoint }: ListReading): boolean => endpoint === 'surveys'
const isFiltered = ({ query }: ListReading): boolean => query.some(([name]) => name !== 'page')

export const SURVEY_RULES: readonly Rule[] = [
  ...fieldRules('survey', 'Survey', SURVEY_FIELDS, surveyRecords, 'no survey was seen'),
  {
    id: 'surveys.page-left-out',
    section: 'List surveys',
    text: 'without the parameter page the answer is page 1',
    check: async ({ head, reader }) => {
      const { first, again } = await head()
      return await sameAsPageOne(first, again, () => reader.surveys())
    },
  },
  {
    id: 'surveys.one-organization',
    section: 'List surveys',
    text: 'all surveys belong to one organization',
    when: 'passive',
    check: ({ reader }) => {
      const records = surveyRecords(reader)
      if (records.length < 2) throw new Unseen('fewer than two surveys were seen')
      const owners = new Set(records.map(({ record }) => record.owner_organization_id))
      if (owners.size === 1) return PASS
      const shown = [...owners].slice(0, 3).map((owner) => reader.show(owner))
      return fail('GET …/surveys', 'one owner_organization_id', `${owners.size} of them: ${shown.join(', ')}`)
    },
  },
  within('surveys.order', 'List surveys', 'each page', (list) => isOfSurveys(list) && !isFiltered(list)),
  {
    id: 'surveys.order-across-pages',
    section: 'List surveys',
    text: 'page 2 continues page 1 in the order of created_at',
    check: async ({ head }) => {
      const [first, second] = stablePages(await head())
      const [oldest, newest] = [createdOf(first)?.at(-1), createdOf(second)?.at(0)]
      if (oldest === undefined || newest === undefined) throw new Unseen('created_at of a row cannot be read')
      if (newest <= oldest) return PASS
      const got = `page 1 ends with ${formatMoment(oldest)}, page 2 begins with ${formatMoment(newest)}`
      return fail(`${first.request}, ${second.request}`, ORDER, got)
    },
  },
  within(
    'surveys.order-filtered',
    'List surveys',
    'a filtered list',
    (list) => isOfSurveys(list) && isFiltered(list),
  ),
  within('sources.order', 'List the sample sources of a survey', 'each page', (list) => !isOfSurveys(list)),
]
