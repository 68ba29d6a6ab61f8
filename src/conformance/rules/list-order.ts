/** API document, "What the service does": lists are sorted by creation date, most recent first. */
import { formatMoment, parseMoment } from '../instant.js'
import type { Evidence } from '../read/evidence.js'
import type { ListReading } from '../read/reader.js'
import { type Failure, fail, holdEach, PASS, type Rule, unseen, type Verdict } from '../verdict.js'

const TEXT = 'sorted by created_at, most recent first'

/** Null where a moment cannot be read: that is another rule's matter. */
const createdOf = ({ rows }: ListReading): readonly bigint[] | null => {
  const moments = rows.flatMap(({ created_at }) => parseMoment(created_at)?.micros ?? [])
  return moments.length === rows.length ? moments : null
}

const orderProblem = (reading: ListReading): Failure | null | 'skip' => {
  const created = createdOf(reading)
  // Rows of one moment are in order whatever their order is.
  if (created === null || new Set(created).size < 2) return 'skip'
  const place = created.findIndex((at, index) => index > 0 && at > (created[index - 1] ?? at))
  if (place === -1) return null
  const [before, after] = [created[place - 1] ?? 0n, created[place] ?? 0n].map(formatMoment)
  return {
    asked: reading.asked,
    expected: TEXT,
    got: `row ${place} is of ${before}, row ${place + 1} of ${after}`,
  }
}

const within = (
  id: string,
  section: string,
  text: string,
  isMeant: (reading: ListReading) => boolean,
): Rule => ({
  id,
  section,
  text,
  passive: true,
  check: ({ reader }) =>
    holdEach(reader.seen.lists.filter(isMeant), orderProblem, 'no list with two different moments was seen'),
})

const isFiltered = ({ query }: ListReading): boolean => query.some(([name]) => name !== 'page')

const acrossPages: Rule = {
  id: 'surveys.order-across-pages',
  section: 'List surveys',
  text: 'a page begins where the page before it ends, in the order of created_at',
  check: async ({ head }: Evidence): Promise<Verdict> => {
    const { first, second, stable } = await head()
    if (second === null) return unseen('the list of surveys has one page only')
    if (!stable) return unseen('the list went on changing while it was read')
    const [oldest, newest] = [createdOf(first)?.at(-1), createdOf(second)?.at(0)]
    if (oldest === undefined || newest === undefined) return unseen('created_at of a row cannot be read')
    if (newest <= oldest) return PASS
    const got = `page 1 ends with ${formatMoment(oldest)}, page 2 begins with ${formatMoment(newest)}`
    return fail(`${first.asked}, ${second.asked}`, TEXT, got)
  },
}

export const LIST_ORDER_RULES: readonly Rule[] = [
  within(
    'surveys.order',
    'List surveys',
    `each page is ${TEXT}`,
    (reading) => reading.endpoint === 'surveys' && !isFiltered(reading),
  ),
  acrossPages,
  within(
    'surveys.order-filtered',
    'List surveys',
    `a filtered list is ${TEXT}`,
    (reading) => reading.endpoint === 'surveys' && isFiltered(reading),
  ),
  within(
    'sources.order',
    'List the sample sources of a survey',
    `each page is ${TEXT}`,
    (reading) => reading.endpoint === 'sample_sources',
  ),
]
