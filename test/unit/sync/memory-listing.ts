/** The part of the warehouse port that a listing needs, as maps in memory, which allow many more listings than DuckDB. */
import type { Survey } from '../../../src/model/fields.js'
import type { Instant } from '../../../src/model/instant.js'
import type { AccountWarehouse, ListedRows, ListingPage, ListingState } from '../../../src/model/warehouse.js'

export interface MemoryListing {
  readonly account: AccountWarehouse
  readonly surveys: ReadonlyMap<number, Survey>
}

export const memoryListing = (): MemoryListing => {
  const surveys = new Map<number, Survey>()
  const seen = new Set<number>()
  const unidentified = new Map<number, number>()
  let cursor: Instant | null = null
  let fullListedAt: Instant | null = null
  let countedAt: Instant | null = null
  let listing: ListingState | null = null

  const idsOf = (page: ListedRows) => [
    ...page.surveys.map(({ id }) => id),
    ...page.rejections.flatMap(({ rowId }) => rowId ?? []),
  ]
  const unidentifiedOf = (page: ListedRows) => page.rejections.filter(({ rowId }) => rowId === null).length
  const forget = () => {
    listing = null
    unidentified.clear()
    seen.clear()
  }
  const commit = (page: ListingPage) => {
    if (listing === null) throw new Error('a page of a listing that was never begun')
    for (const survey of page.surveys) surveys.set(survey.id, survey)
    for (const id of idsOf(page)) seen.add(id)
    unidentified.set(page.page, unidentifiedOf(page))
    if (page.nextPage !== null) {
      const firstTotalCount = listing.firstTotalCount ?? page.totalCount
      listing = { ...listing, nextPage: page.nextPage, totalCount: page.totalCount, firstTotalCount }
      return
    }
    cursor = listing.ceiling
    if (listing.kind === 'full') fullListedAt = page.committedAt
    forget()
  }
  const listingOnly: Partial<AccountWarehouse> = {
    account: 'acme',
    position: () => Promise.resolve({ cursor, fullListedAt, countedAt, fullListingDue: false, listing }),
    // Every listed survey is new and queued, and no task is ever done.
    hasTasks: () => Promise.resolve(surveys.size > 0),
    startListing: (start) => {
      forget()
      listing = { ...start, nextPage: 1, totalCount: 0, firstTotalCount: null }
      return Promise.resolve()
    },
    countListed: (page) => {
      const withPage = new Map([...unidentified, [page.page, unidentifiedOf(page)]])
      const rows = [...withPage.values()].reduce((sum, count) => sum + count, 0)
      return Promise.resolve(new Set([...seen, ...idsOf(page)]).size + rows)
    },
    commitListingPages: (pages) => {
      for (const page of pages) commit(page)
      const added = pages.reduce((sum, page) => sum + page.surveys.length, 0)
      return Promise.resolve({ added, changed: 0, unchanged: 0 })
    },
    agreesWithTotal: (total, at) => {
      if (total === surveys.size) countedAt = at
      return Promise.resolve(total === surveys.size)
    },
    dropListing: () => {
      forget()
      return Promise.resolve()
    },
  }
  return { account: listingOnly as AccountWarehouse, surveys }
}
