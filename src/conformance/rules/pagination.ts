/** API document, "Pagination object": its fields, its arithmetic, and the pages that it describes. */
import { integerOf, PAGINATION_FIELDS } from '../fields.js'
import { stablePages } from '../read/evidence.js'
import { idsOf, type ListReading, paging, type Reader } from '../read/reader.js'
import { type EachRule, each, fieldRules, judgeEach, type Rule } from '../rule.js'
import { fail, PASS, Unseen, type Verdict } from '../verdict.js'

const SECTION = 'Pagination object'
const NOTHING = 'no page was seen that the rule applies to'

const eachList = (rule: Pick<EachRule<ListReading>, 'id' | 'text' | 'judge'>): Rule =>
  each({ ...rule, section: SECTION, items: ({ seen }) => seen.lists, nothing: NOTHING })

/** `expectedOf` gives the value that a field must have on a page, undefined if the rule says nothing about the page. */
const arithmetic = (
  id: string,
  field: string,
  text: string,
  expectedOf: (page: number, pages: number) => number | null | undefined,
): Rule =>
  eachList({
    id: `paging.${id}`,
    text: `${field} ${text}`,
    judge: ({ request, page, pagination }, { show }) => {
      const pages = integerOf(pagination.total_pages)
      // The document does not say what comes past the end and in an empty list.
      const expected = pages === null || page > pages ? undefined : expectedOf(page, pages)
      if (expected === undefined) return null
      if (pagination[field] === expected) return PASS
      return fail(request, `${field} ${expected}`, `${field} ${show(pagination[field])}`)
    },
  })

/** The number of rows on a page that is not the last; null if no such page was read. */
export const pageSizeOf = ({ seen }: Reader, endpoint: ListReading['endpoint']): number | null => {
  const full = seen.lists.find(
    (list) => list.endpoint === endpoint && list.page < (integerOf(list.pagination.total_pages) ?? 0),
  )
  return full === undefined || full.rows.length === 0 ? null : full.rows.length
}

const noneTwice = (pages: readonly ListReading[]): Verdict => {
  const ids = pages.flatMap((page) => idsOf(page))
  const double = ids.find((id, index) => ids.indexOf(id) !== index)
  if (double === undefined) return PASS
  return fail(pages.map(({ request }) => request).join(', '), 'each record once', `record ${double} twice`)
}

/** Compares a page that was requested without a number with page 1. */
export const sameAsPageOne = async (
  leftOut: ListReading,
  pageOne: ListReading,
  again: () => Promise<ListReading>,
): Promise<Verdict> => {
  const text = (reading: ListReading) => JSON.stringify([idsOf(reading), paging(reading, 'current_page')])
  if (text(leftOut) === text(pageOne)) return PASS
  if (text(await again()) !== text(leftOut)) throw new Unseen('the list changed while it was read')
  return fail(
    `${leftOut.request} and ${pageOne.request}`,
    'the same page',
    'different records or page numbers',
  )
}

export const PAGINATION_RULES: readonly Rule[] = [
  ...fieldRules(
    'pagination',
    SECTION,
    PAGINATION_FIELDS,
    ({ seen }) =>
      seen.lists.map(({ request, page, pagination }) => ({
        request,
        name: `page ${page}`,
        record: pagination,
      })),
    'no list was seen',
  ),
  arithmetic('current', 'current_page', 'is the requested page', (page) => page),
  arithmetic('next', 'next_page', 'is the number of the next page, if there is one', (page, pages) =>
    page < pages ? page + 1 : undefined,
  ),
  arithmetic('last', 'next_page', 'is null on the last page', (page, pages) =>
    page === pages ? null : undefined,
  ),
  arithmetic('prev', 'prev_page', 'is the number of the previous page, null on the first page', (page) =>
    page > 1 ? page - 1 : null,
  ),
  eachList({
    id: 'paging.total-pages',
    text: 'total_pages is total_count divided by the page size, rounded up',
    judge: ({ request, endpoint, pagination }, reader) => {
      const [pages, count] = [integerOf(pagination.total_pages), integerOf(pagination.total_count)]
      const size = pageSizeOf(reader, endpoint)
      if (pages === null || count === null || count === 0 || (size === null && pages !== 1)) return null
      const expected = size === null ? 1 : Math.ceil(count / size)
      if (pages === expected) return PASS
      const how = `for ${count} records${size === null ? '' : `, ${size} a page`}`
      return fail(request, `total_pages ${expected} ${how}`, `total_pages ${pages}`)
    },
  }),
  // A page and its totals come in one answer, so nothing can change between them.
  eachList({
    id: 'paging.total-count',
    text: 'total_count is the number of records on all pages',
    judge: ({ request, endpoint, page, pagination, rows }, reader) => {
      const [pages, count] = [integerOf(pagination.total_pages), integerOf(pagination.total_count)]
      const size = pageSizeOf(reader, endpoint)
      if (pages === null || count === null || page > Math.max(1, pages)) return null
      if (page > 1 && size === null) return null
      const upToHere = (page - 1) * (size ?? 0) + rows.length
      if (page < pages ? count > upToHere : count === upToHere) return PASS
      const expected = `total_count ${page < pages ? 'above ' : ''}${upToHere}`
      return fail(request, `${expected}, the records up to page ${page} of ${pages}`, `total_count ${count}`)
    },
  }),
  {
    id: 'paging.no-overlap',
    section: SECTION,
    text: 'no record is on two pages, or twice on one',
    check: async ({ head, reader }) => {
      const read = await head()
      const onOnePage = judgeEach(reader.seen.lists, (page) => noneTwice([page]), 'no list was seen')
      if (onOnePage.verdict === 'fail') return onOnePage
      const { again, last } = read
      // The last page was read after the others: a survey that was created in between moves a row onto it.
      const isOfThem = last !== null && last.pagination.total_count === again.pagination.total_count
      return noneTwice([...stablePages(read), ...(isOfThem ? [last] : [])])
    },
  },
]
