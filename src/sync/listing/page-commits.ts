/**
 * Commits the pages of a listing in their order, in groups, while the next pages are read. After a failed commit no later page is
 * committed: the listing would go on behind the gap.
 */
import type { Page } from '../../model/survey-source.js'
import type { ListingPage } from '../../model/warehouse.js'
import { createCommitQueue } from '../commit-queue.js'
import type { RunDependencies } from '../dependencies.js'
import { addRows, type RunState } from '../run-state.js'

/** So many pages may always wait for their commit. */
const UNCOMMITTED_MIN = 8

export interface PageCommits {
  /** Resolves when the next page may be read. Rejects when a commit has failed. */
  add(page: ListingPage, pagination: Page<unknown>['pagination']): Promise<void>
  /** Whether surveys are queued, also by pages that wait for their commit. */
  hasTasks(): Promise<boolean>
  /** Commits what waits. Rejects when a commit has failed. */
  allEnd(): Promise<void>
}

export const createPageCommits = (
  { warehouse, clock, observer, log }: RunDependencies,
  state: RunState,
): PageCommits => {
  const uncommitted = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | null = null

  const commits = createCommitQueue<ListingPage>({
    commitAll: async (pages) => {
      if (failure !== null) throw failure.error
      try {
        const { rows } = await warehouse.commitListingPages(pages)
        addRows(state, { surveys: rows })
      } catch (error) {
        failure = { error }
        throw error
      }
    },
    rowsIn: ({ surveys, rejections }) => surveys.length + rejections.length,
    clock,
  })

  const commit = async (page: ListingPage, pagination: Page<unknown>['pagination']): Promise<void> => {
    await commits.commit(page)
    state.counts.surveysListed += page.surveys.length
    log.debug({ account: warehouse.account, page: page.page }, 'committed a page of the listing')
    observer.listed({
      account: warehouse.account,
      page: pagination.current_page,
      pages: pagination.total_pages,
      surveys: state.counts.surveysListed,
    })
  }

  const oneEnds = async (): Promise<void> => {
    // Nothing more arrives for the next commit.
    commits.flush()
    await Promise.race(uncommitted)
  }

  const allEnd = async (): Promise<void> => {
    while (uncommitted.size > 0) await oneEnds()
    if (failure !== null) throw failure.error
  }

  return {
    add: async (page, pagination) => {
      // `allEnd` and the next page throw the error.
      const ended = commit(page, pagination)
        .catch(() => undefined)
        .finally(() => uncommitted.delete(ended))
      uncommitted.add(ended)
      while (uncommitted.size >= UNCOMMITTED_MIN && commits.isFull(uncommitted.size)) await oneEnds()
      if (failure !== null) throw failure.error
    },
    hasTasks: async () => {
      await allEnd()
      return warehouse.hasTasks()
    },
    allEnd,
  }
}
