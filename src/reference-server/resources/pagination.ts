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
  .meta({ description: 'Where in the list a page stands' })

export type PaginationResource = Shown<z.output<typeof pagination>>
