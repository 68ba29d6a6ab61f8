/** API document, "List surveys", `status`: filters on one status, or on several in array form. */
import { isDeepStrictEqual } from 'node:util'
import { integerOf } from '../fields.js'
import { compare, type Evidence } from '../read/evidence.js'
import { idsOf, type ListReading, paging, sameIds } from '../read/reader.js'
import { judgeEach, type Rule, rulesOf } from '../rule.js'
import { fail, PASS, Unseen } from '../verdict.js'

const rule = rulesOf('List surveys')

const onlySuchRows = (
  id: string,
  parameter: string,
  text: string,
  read: (evidence: Evidence) => Promise<unknown>,
): Rule =>
  rule(id, text, async (evidence) => {
    await read(evidence)
    const { seen, show } = evidence.reader
    const judge = ({ request, query, rows }: ListReading) => {
      const statuses = query.flatMap(([name, value]) => (name === parameter ? [value] : []))
      if (rows.length === 0 || statuses.length === 0) return null
      const odd = rows.filter(({ status }) => !statuses.some((wanted) => wanted === status))
      if (odd.length === 0) return PASS
      const got = `${odd.length} of ${rows.length} rows have another status, the first has ${show(odd[0]?.status)}`
      return fail(request, `rows whose status is ${statuses.join(' or ')}`, got)
    }
    return judgeEach(seen.lists, judge, 'no list with this filter has a survey')
  })

const bothStatuses = async ({ byStatus }: Evidence) => {
  const { one, other } = await byStatus()
  if (other === null) throw new Unseen('all surveys seen have the same status')
  return [one, other] as const
}

const readUnion = async (evidence: Evidence): Promise<ListReading> => {
  const both = await bothStatuses(evidence)
  return await evidence.reader.surveys(both.map(({ status }) => ['status[]', status]))
}

const totalOf = (reading: ListReading): number => paging(reading, 'total_count')
const shownIn = (reading: ListReading) => [totalOf(reading), ...idsOf(reading)]
const sumOf = (readings: readonly ListReading[]): number =>
  readings.reduce((sum, reading) => sum + totalOf(reading), 0)

export const STATUS_FILTER_RULES: readonly Rule[] = [
  onlySuchRows('status.only', 'status', 'status=… shows surveys of that status only', ({ byStatus }) =>
    byStatus(),
  ),
  // Page 1 of one status reaches back at least as far as page 1 of all surveys, so it has every survey of that status on page 1 of all.
  rule(
    'status.complete',
    'status=… leaves out no survey of that status',
    async ({ reader, byStatus, head }) => {
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
      return fail(filtered.request, `survey ${id}, whose status is ${one.status}`, 'the survey is missing')
    },
  ),
  onlySuchRows(
    'status.array-only',
    'status[]',
    'status[]=…&status[]=… shows surveys of these statuses only',
    readUnion,
  ),
  rule(
    'status.array-union',
    'status[]=…&status[]=… shows all surveys of these statuses',
    async (evidence) => {
      const both = await bothStatuses(evidence)
      return await compare<readonly ListReading[]>({
        known: both.map(({ reading }) => reading),
        readOne: async () => [
          await evidence.reader.surveys(both[0].reading.query),
          await evidence.reader.surveys(both[1].reading.query),
        ],
        readOther: async () => [await readUnion(evidence)],
        isSame: (a, b) => sumOf(a) === sumOf(b),
        isUnchanged: (a, b) => isDeepStrictEqual(a.map(shownIn), b.map(shownIn)),
        differ: (a, b) => {
          const expected = `total_count ${a.map(totalOf).join(' + ')} = ${sumOf(a)}, as for each status alone`
          return fail(b.map(({ request }) => request).join(), expected, `total_count ${sumOf(b)}`)
        },
      })
    },
  ),
  rule(
    'status.array-of-one',
    'status[]=… with one status gives the same list as status=…',
    async ({ reader, byStatus }) => {
      const { status, reading } = (await byStatus()).one
      return await compare({
        known: reading,
        readOne: () => reader.surveys(reading.query),
        readOther: () => reader.surveys([['status[]', status]]),
        isSame: sameIds,
        differ: (a, b) => {
          const expected = `the rows of ${a.request}, total_count ${totalOf(a)}`
          return fail(b.request, expected, `other rows, total_count ${totalOf(b)}`)
        },
      })
    },
  ),
]
