/** API document, "Pagination object": its fields, its arithmetic, and that its pages are what it says. */
import { PAGINATION_FIELDS } from '../fields.js'
import { integerOf } from '../json.js'
import type { Evidence } from '../read/evidence.js'
import { idsOf, type ListReading, paging } from '../read/reader.js'
import { Unseen } from '../unseen.js'
import { type Failure, fail, holdEach, PASS, type Rule, unseen, type Verdict } from '../verdict.js'
import { fieldRules } from './fields.js'

const SECTION = 'Pagination object'
const NOTHING = 'no such page was seen'

/** A page of which the rule tells what a field must be; `skip` where it says nothing. */
const arithmetic = (
  id: string,
  field: string,
  text: string,
  expectedOf: (page: number, pages: number) => number | null | 'skip',
): Rule => ({
  id: `paging.${id}`,
  section: SECTION,
  text,
  passive: true,
  check: ({ reader }) =>
    holdEach(
      reader.seen.lists,
      (reading): Failure | null | 'skip' => {
        const pages = integerOf(reading.pagination.total_pages)
        // Past the end, and in an empty list, the document does not say what comes.
        if (pages === null || reading.page > pages) return 'skip'
        const expected = expectedOf(reading.page, pages)
        if (expected === 'skip') return 'skip'
        if (reading.pagination[field] === expected) return null
        const { asked } = reading
        return {
          asked,
          expected: `${field} ${expected}`,
          got: `${field} ${reader.show(reading.pagination[field])}`,
        }
      },
      NOTHING,
    ),
})

/** Rows on a full page of the same list: of one that others follow. */
export const pageSizeOf = (
  lists: readonly ListReading[],
  endpoint: ListReading['endpoint'],
): number | null => {
  const full = lists.find(
    (one) => one.endpoint === endpoint && one.page < (integerOf(one.pagination.total_pages) ?? 0),
  )
  return full === undefined || full.rows.length === 0 ? null : full.rows.length
}

const totalPages: Rule = {
  id: 'paging.total-pages',
  section: SECTION,
  text: 'total_pages is what total_count and the size of a page make',
  passive: true,
  check: ({ reader }) =>
    holdEach(
      reader.seen.lists,
      (reading): Failure | null | 'skip' => {
        const pages = integerOf(reading.pagination.total_pages)
        const count = integerOf(reading.pagination.total_count)
        if (pages === null || count === null || count === 0) return 'skip'
        const size = pageSizeOf(reader.seen.lists, reading.endpoint)
        if (size === null && pages !== 1) return 'skip'
        const expected = size === null ? 1 : Math.ceil(count / size)
        if (pages === expected) return null
        return {
          asked: reading.asked,
          expected: `total_pages ${expected}, of ${count} records${size === null ? '' : `, ${size} a page`}`,
          got: `total_pages ${pages}`,
        }
      },
      NOTHING,
    ),
}

/** A page and what it says of the whole come in one answer, so nothing can have changed in between. */
const totalCount: Rule = {
  id: 'paging.total-count',
  section: SECTION,
  text: 'total_count is the number of records on all pages',
  passive: true,
  check: ({ reader }) =>
    holdEach(
      reader.seen.lists,
      ({ asked, endpoint, page, pagination, rows }): Failure | null | 'skip' => {
        const pages = integerOf(pagination.total_pages)
        const count = integerOf(pagination.total_count)
        if (pages === null || count === null || page > Math.max(1, pages)) return 'skip'
        const size = pageSizeOf(reader.seen.lists, endpoint)
        if (page > 1 && size === null) return 'skip'
        const upToHere = (page - 1) * (size ?? 0) + rows.length
        if (page < pages ? count > upToHere : count === upToHere) return null
        return {
          asked,
          expected: `total_count ${page < pages ? 'above ' : ''}${upToHere}: so many records up to page ${page} of ${pages}`,
          got: `total_count ${count}`,
        }
      },
      NOTHING,
    ),
}

const noOverlap: Rule = {
  id: 'paging.no-overlap',
  section: SECTION,
  text: 'no record is on two pages, or twice on one',
  check: async ({ head, reader }: Evidence): Promise<Verdict> => {
    const { first, second, again, stable, last } = await head()
    const twice = holdEach(
      reader.seen.lists,
      (reading) => doubleIn(reading.asked, idsOf(reading)),
      'no list was seen',
    )
    if (twice.verdict === 'fail') return twice
    if (second === null) return unseen('the list of surveys has one page only')
    if (!stable) return unseen('the list went on changing while it was read')
    // The last page was read after the others: a new survey in between would push a row onto it.
    const isOfThem = last !== null && last.pagination.total_count === again.pagination.total_count
    const pages = [first, second, ...(isOfThem ? [last] : [])]
    const double = doubleIn(pages.map(({ asked }) => asked).join(', '), pages.flatMap(idsOf))
    return double === null ? PASS : fail(double.asked, double.expected, double.got)
  },
}

const doubleIn = (asked: string, ids: readonly number[]): Failure | null => {
  const double = ids.find((id, place) => ids.indexOf(id) !== place)
  return double === undefined ? null : { asked, expected: 'each record once', got: `record ${double} twice` }
}

/** The same page, asked for by its number. */
export const sameAsPageOne = async (
  leftOut: ListReading,
  pageOne: ListReading,
  again: () => Promise<ListReading>,
): Promise<Verdict> => {
  const text = (reading: ListReading) => JSON.stringify([idsOf(reading), paging(reading, 'current_page')])
  if (text(leftOut) === text(pageOne)) return PASS
  if (text(await again()) !== text(leftOut)) throw new Unseen('the list changed while it was read')
  return fail(`${leftOut.asked} and ${pageOne.asked}`, 'the same page', 'different records or page numbers')
}

export const PAGINATION_RULES: readonly Rule[] = [
  ...fieldRules({
    prefix: 'pagination',
    section: SECTION,
    fields: PAGINATION_FIELDS,
    records: ({ reader }) =>
      reader.seen.lists.map(({ asked, page, pagination }) => ({
        asked,
        name: `page ${page}`,
        record: pagination,
      })),
    nothing: 'no list was seen',
  }),
  arithmetic('current', 'current_page', 'current_page is the page that was asked for', (page) => page),
  arithmetic(
    'next',
    'next_page',
    'next_page is the page after this one, where there is one',
    (page, pages) => (page < pages ? page + 1 : 'skip'),
  ),
  arithmetic('last', 'next_page', 'next_page is null on the last page', (page, pages) =>
    page === pages ? null : 'skip',
  ),
  arithmetic('prev', 'prev_page', 'prev_page is the page before this one, null on the first', (page) =>
    page > 1 ? page - 1 : null,
  ),
  totalPages,
  totalCount,
  noOverlap,
]
