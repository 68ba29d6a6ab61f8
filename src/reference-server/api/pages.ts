/**
 * Page arithmetic (API document, "Pagination object"). What it leaves open, chosen here: an empty list has 0
 * pages and its current_page is the one asked for; a page past the end is empty, without next and without prev.
 */
import type { PaginationResource } from '../resources/pagination.js'

/** Where page `page` begins, counted from 0. */
export const firstOfPage = (page: number, pageSize: number): number => (page - 1) * pageSize

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
