/** The part of the warehouse port that a listing needs, as maps in memory, which allow many more listings than DuckDB. */
import type { Survey } from '../../../src/model/fields.js'
import type { Instant } from '../../../src/model/instant.js'
import type { ListingKind } from '../../../src/model/run.js'
import type { AccountWarehouse, ListedRows, ListingPage, ListingState } from '../../../src/model/warehouse.js'

export interface MemoryListing {
  readonly account: AccountWarehouse
  readonly surveys: ReadonlyMap<number, Survey>
}

interface UnderWay {
  state: ListingState
  readonly seen: Set<number>
  readonly unidentified: Map<number, number>
}

export const memoryListing = (): MemoryListing => {
  const surveys = new Map<number, Survey>()
  const listings: Record<ListingKind, UnderWay | null> = { full: null, incremental: null }
  let cursor: Instant | null = null
  let cursorDatedAt: Instant | null = null
  let fullListedAt: Instant | null = null
  let countedAt: Instant | null = null
  let fullListingDue = false

  const idsOf = (page: ListedRows) => [
    ...page.surveys.map(({ id }) => id),
    ...page.rejections.flatMap(({ rowId }) => rowId ?? []),
  ]
  const unidentifiedOf = (page: ListedRows) => page.rejections.filter(({ rowId }) => rowId === null).length
  const commit = (page: ListingPage) => {
    const listing = listings[page.kind]
    if (listing === null) throw new Error('a page of a listing that was never begun')
    for (const survey of page.surveys) surveys.set(survey.id, survey)
    for (const id of idsOf(page)) {
      listing.seen.add(id)
      listings.full?.seen.add(id)
    }
    listing.unidentified.set(page.page, unidentifiedOf(page))
    const { state } = listing
    if (page.nextPage !== null) {
      const leastTotalCount = Math.min(state.leastTotalCount ?? page.totalCount, page.totalCount)
      listing.state = { ...state, nextPage: page.nextPage, totalCount: page.totalCount, leastTotalCount }
      return
    }
    const { full } = listings
    if (page.kind === 'full') {
      fullListedAt = page.committedAt
      fullListingDue = false
    } else if (full !== null) {
      const { ceiling, ceilingDatedAt } = state
      full.state = { ...full.state, ceiling, ceilingDatedAt }
    }
    if (page.kind === 'full' || cursor !== null || full === null) {
      cursor = state.ceiling
      cursorDatedAt = state.ceilingDatedAt
    }
    listings[page.kind] = null
  }
  const listingOnly: Partial<AccountWarehouse> = {
    account: 'acme',
    position: () =>
      Promise.resolve({
        ...{ cursor, fullListedAt, countedAt, fullListingDue, hasLeftOut: false, cursorDatedAt },
        listings: { full: listings.full?.state ?? null, incremental: listings.incremental?.state ?? null },
      }),
    // Every listed survey is new and queued, and no task is ever done.
    hasTasks: () => Promise.resolve(surveys.size > 0),
    startListing: (start) => {
      const state = {
        ...start,
        ceilingDatedAt: start.startedAt,
        nextPage: 1,
        totalCount: 0,
        leastTotalCount: null,
      }
      listings[start.kind] = { state, seen: new Set(), unidentified: new Map() }
      if (start.kind === 'full' && cursor !== null) fullListingDue = true
      return Promise.resolve()
    },
    countListed: (page) => {
      const { seen, unidentified } = listings[page.kind] ?? { seen: [], unidentified: [] }
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
    dropListing: (kind) => {
      listings[kind] = null
      return Promise.resolve()
    },
  }
  return { account: listingOnly as AccountWarehouse, surveys }
}
