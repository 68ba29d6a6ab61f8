/** API document, "Pagination object": at the end of every list response. */
import { z } from 'zod'
import { type Shown, wholeNumber, wholeNumberOrNull } from './fields.js'

export const pagination = z
  .strictObject({
    current_page: wholeNumber('Number of the current page'),
    next_page: wholeNumberOrNull('Next page number; null when there is none'),
    prev_page: wholeNumberOrNull('Previous page number; null when there is none'),
    total_pages: wholeNumber('Total number of pages'),
    total_count: wholeNumber('Total number of records'),
  })
  .meta({ description: 'The place of a page in the list' })

/** Where page `page` begins, from 0. */
export const firstOfPage = (page: number, pageSize: number): number => (page - 1) * pageSize

type PaginationResource = Shown<z.output<typeof pagination>>

/**
 * The document leaves these open, chosen here: an empty list has 0 pages and its current_page is the requested one; a
 * page past the end is empty and has neither a next nor a previous page.
 */
export const paginationOf = (page: number, pageSize: number, totalCount: number): PaginationResource => {
  const totalPages = Math.ceil(totalCount / pageSize)
  return {
    current_page: page,
    next_page: page < totalPages ? page + 1 : null,
    prev_page: page > 1 && page <= totalPages ? page - 1 : null,
    total_pages: totalPages,
    total_count: totalCount,
  }
}
