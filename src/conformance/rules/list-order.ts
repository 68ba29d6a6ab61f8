/** API document, "What the service does": lists are sorted by creation date, most recent first. */
import { formatMoment, parseMoment } from '../instant.js'
import { stablePages } from '../read/evidence.js'
import type { ListReading } from '../read/reader.js'
import { Unseen } from '../unseen.js'
import { fail, PASS, type Rule } from '../verdict.js'
import { each } from './each.js'

const TEXT = 'sorted by created_at, most recent first'

/** Null where a moment cannot be read: other rules report that. */
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
    text: `${lists} is ${TEXT}`,
    items: ({ seen }) => seen.lists.filter(isMeant),
    judge: (reading) => {
      const created = createdOf(reading)
      // Rows of one moment are in order in any order.
      if (created === null || new Set(created).size < 2) return null
      const place = created.findIndex((at, index) => index > 0 && at > (created[index - 1] ?? at))
      if (place === -1) return PASS
      const [before, after] = [created[place - 1] ?? 0n, created[place] ?? 0n].map(formatMoment)
      return fail(reading.asked, TEXT, `row ${place} was created at ${before}, row ${place + 1} at ${after}`)
    },
    nothing: 'no list with two different moments was seen',
  })

const isFiltered = ({ query }: ListReading): boolean => query.some(([name]) => name !== 'page')

export const LIST_ORDER_RULES: readonly Rule[] = [
  within(
    'surveys.order',
    'List surveys',
    'each page',
    (reading) => reading.endpoint === 'surveys' && !isFiltered(reading),
  ),
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
      return fail(`${first.asked}, ${second.asked}`, TEXT, got)
    },
  },
  within(
    'surveys.order-filtered',
    'List surveys',
    'a filtered list',
    (reading) => reading.endpoint === 'surveys' && isFiltered(reading),
  ),
  within(
    'sources.order',
    'List the sample sources of a survey',
    'each page',
    (reading) => reading.endpoint === 'sample_sources',
  ),
]
