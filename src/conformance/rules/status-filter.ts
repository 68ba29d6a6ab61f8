/** API document, "List surveys", `status`: filters on one status, or on several in array form. */
import { integerOf } from '../json.js'
import { compare, type Evidence, MOVED } from '../read/evidence.js'
import { idsOf, type ListReading, paging, sameIds } from '../read/reader.js'
import { type Failure, fail, holdEach, PASS, type Rule, unseen, type Verdict } from '../verdict.js'

const SECTION = 'List surveys'
const ONE_STATUS = 'surveys of one status only have been seen'

/** The statuses that a list was asked for; empty where it was not filtered by status. */
const wantedOf = ({ query }: ListReading): readonly string[] =>
  query.flatMap(([name, value]) => (name === 'status' || name === 'status[]' ? [value] : []))

const onlySuchRows = (id: string, parameter: string, text: string): Rule => ({
  id,
  section: SECTION,
  text,
  check: async (evidence) => {
    const { reader } = evidence
    if (parameter === 'status') await evidence.byStatus()
    else await union(evidence)
    return holdEach(
      reader.seen.lists.filter(({ query }) => query.some(([name]) => name === parameter)),
      (reading): Failure | null | 'skip' => {
        if (reading.rows.length === 0) return 'skip'
        const wanted = wantedOf(reading)
        const odd = reading.rows.filter(({ status }) => !wanted.some((one) => one === status))
        if (odd.length === 0) return null
        const got = `${odd.length} of ${reading.rows.length} rows are not, the first is ${reader.show(odd[0]?.status)}`
        return { asked: reading.asked, expected: `rows whose status is ${wanted.join(' or ')}`, got }
      },
      'no survey was in such a list',
    )
  },
})

/** Null where only one status has been seen. */
const union = async ({ reader, byStatus }: Evidence): Promise<ListReading | null> => {
  const { one, other } = await byStatus()
  if (other === null) return null
  return await reader.surveys([
    ['status[]', one.status],
    ['status[]', other.status],
  ])
}

/** A page of one status reaches back at least as far as a page of all: whatever has the status there must be on it. */
const nothingLeftOut: Rule = {
  id: 'status.complete',
  section: SECTION,
  text: 'status=… leaves no survey of that status out',
  check: async ({ reader, byStatus, head }) => {
    const { one } = await byStatus()
    const { again } = await head()
    const missing = (filtered: ListReading, whole: ListReading): readonly number[] => {
      const ids = idsOf(filtered)
      return whole.rows
        .filter(({ status }) => status === one.status)
        .flatMap(({ id }) => integerOf(id) ?? [])
        .filter((id) => !ids.includes(id))
    }
    if (missing(one.reading, again).length === 0) return PASS
    const filtered = await reader.surveys(one.reading.query)
    const whole = await reader.surveys([['page', '1']])
    const [id] = missing(filtered, again).filter((missed) => missing(filtered, whole).includes(missed))
    if (id === undefined) return PASS
    return fail(filtered.asked, `survey ${id}, whose status is ${one.status}`, 'it is not there')
  },
}

const unionCount: Rule = {
  id: 'status.array-union',
  section: SECTION,
  text: 'status[]=…&status[]=… holds the surveys of the one and of the other status',
  check: async (evidence): Promise<Verdict> => {
    const { reader, byStatus } = evidence
    const { one, other } = await byStatus()
    if (other === null) return unseen(ONE_STATUS)
    let readings = [one.reading, other.reading] as const
    let isFirst = true
    const compared = await compare(
      async () => {
        if (!isFirst)
          readings = [await reader.surveys(one.reading.query), await reader.surveys(other.reading.query)]
        isFirst = false
        return readings.map((reading) => paging(reading, 'total_count'))
      },
      async () => (await union(evidence)) ?? one.reading,
      (counts, both) => paging(both, 'total_count') === sumOf(counts),
      (before, after) => before.join() === after.join(),
    )
    if (compared.outcome === 'agree') return PASS
    if (compared.outcome === 'moved') return unseen(MOVED)
    const expected = `total_count ${compared.one.join(' + ')} = ${sumOf(compared.one)}, as of the two statuses alone`
    return fail(compared.other.asked, expected, `total_count ${paging(compared.other, 'total_count')}`)
  },
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

const arrayOfOne: Rule = {
  id: 'status.array-of-one',
  section: SECTION,
  text: 'status[]=… with one status is the same as status=…',
  check: async ({ reader, byStatus }) => {
    const { one } = await byStatus()
    let single: ListReading | null = one.reading
    const compared = await compare(
      async () => {
        const reading = single ?? (await reader.surveys([['status', one.status]]))
        single = null
        return reading
      },
      () => reader.surveys([['status[]', one.status]]),
      sameIds,
      sameIds,
    )
    if (compared.outcome === 'agree') return PASS
    if (compared.outcome === 'moved') return unseen(MOVED)
    const expected = `the rows of ${compared.one.asked}, total_count ${paging(compared.one, 'total_count')}`
    return fail(
      compared.other.asked,
      expected,
      `others, total_count ${paging(compared.other, 'total_count')}`,
    )
  },
}

export const STATUS_FILTER_RULES: readonly Rule[] = [
  onlySuchRows('status.only', 'status', 'status=… shows surveys of that status only'),
  nothingLeftOut,
  onlySuchRows('status.array-only', 'status[]', 'status[]=…&status[]=… shows surveys of these statuses only'),
  unionCount,
  arrayOfOne,
]
