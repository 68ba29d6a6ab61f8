/**
 * Commits pages of a listing, or outcomes of surveys, in groups while reading goes on, because a commit of many costs hardly more
 * than a commit of a few. At the cap of the API each is committed at once. A killed run loses what it has not committed, so that
 * is bounded by what it has committed (docs/decisions/warehouse.md#0036-pages-and-outcomes-are-committed-in-groups).
 */
import type { Clock } from '../base/clock.js'
import type { Page } from '../model/survey-source.js'
import type { AccountWarehouse, ListingPage, StoredBundle } from '../model/warehouse.js'
import type { Task } from '../rules/queue.js'
import type { RunDependencies } from './run-state.js'
import { addRows, type RunState } from './run-state.js'

/** Items that wait for a commit, and their rows. They bound the memory, and what the run after a killed one reads again. */
const ITEMS_MAX = 256
const ROWS_MAX = 5_000
/** Pauses begin when so many items are committed, so that a run that is killed early has brought the warehouse forward. */
const ITEMS_WITHOUT_PAUSE = 64
/** The pause after a commit, as a multiple of its duration. */
const PAUSE_FACTOR = 9
const PAUSE_MS_MAX = 1_000

export interface CommitQueue<Item> {
  /** Resolves when the item is committed; rejects when its commit failed. */
  commit(item: Item): Promise<void>
  /** Commits what waits without a pause. */
  flush(): void
  /** Whether too much waits, or too little is committed, to have more than these items under way. */
  isFull(underWay: number): boolean
}

interface CommitQueueOptions<Item> {
  /** One transaction. A failed one does not stop the queue. */
  commitAll(items: readonly Item[]): Promise<void>
  rowsIn(item: Item): number
  readonly clock: Clock
}

export const createCommitQueue = <Item>({
  commitAll,
  rowsIn,
  clock,
}: CommitQueueOptions<Item>): CommitQueue<Item> => {
  let waiting: Item[] = []
  let waitingRows = 0
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null
  let pauseEndsMs = 0
  let isUrgent = false
  let committedItems = 0
  let endPause = () => {}

  const isLarge = () => waiting.length >= ITEMS_MAX || waitingRows >= ROWS_MAX

  const pause = async (): Promise<void> => {
    const pauseMs = pauseEndsMs - clock.monotonicMs()
    if (pauseMs <= 0 || isUrgent) return
    const urged = new AbortController()
    endPause = () => urged.abort()
    // The signal is only ours: it ends the pause early.
    await clock.sleep(pauseMs, urged.signal).catch(() => undefined)
  }

  const commitWaiting = async (): Promise<void> => {
    await pause()
    const group = waiting
    waiting = []
    waitingRows = 0
    next = null
    isUrgent = false
    const startedMs = clock.monotonicMs()
    try {
      await commitAll(group)
      committedItems += group.length
    } finally {
      const endedMs = clock.monotonicMs()
      const pauseMs = committedItems < ITEMS_WITHOUT_PAUSE ? 0 : PAUSE_FACTOR * (endedMs - startedMs)
      pauseEndsMs = endedMs + Math.min(PAUSE_MS_MAX, pauseMs)
    }
  }

  const flush = () => {
    isUrgent = true
    endPause()
  }

  return {
    commit: (item) => {
      waiting.push(item)
      waitingRows += rowsIn(item)
      // A failed commit rejects the promises of its own group only. The next group is committed all the same.
      next ??= last.then(commitWaiting, commitWaiting)
      last = next
      if (isLarge()) flush()
      return next
    },
    flush,
    isFull: (underWay) => isLarge() || underWay >= committedItems,
  }
}

/**
 * Reads what is stored of the surveys in the queue, many at a time: a statement for many surveys takes hardly longer than one for a
 * single survey. Nothing else writes these rows between this reading and the survey's commit, and a survey is committed once.
 */

/** Surveys, and rows of their sources, that are read ahead. They bound the memory. */
const AHEAD_SURVEYS_MAX = 256
const AHEAD_ROWS_MAX = 2_000

export interface StoredAhead {
  of(task: Task): Promise<StoredBundle>
}

/** `tasks` are in the order in which they are taken. */
export const readStoredAhead = (
  warehouse: Pick<AccountWarehouse, 'storedBundles'>,
  tasks: readonly Task[],
): StoredAhead => {
  const ahead = new Map<number, Promise<ReadonlyMap<number, StoredBundle>>>()
  const placeOf = new Map(tasks.map(({ surveyId }, place) => [surveyId, place]))

  const readFrom = (surveyId: number) => {
    const ids = idsOf(tasks, placeOf.get(surveyId) ?? 0)
    const read = warehouse.storedBundles(ids)
    for (const id of ids) ahead.set(id, read)
    return read
  }

  return {
    of: async ({ surveyId }) => {
      const read = ahead.get(surveyId) ?? readFrom(surveyId)
      ahead.delete(surveyId)
      const stored = (await read).get(surveyId)
      if (stored === undefined) throw new TypeError(`survey ${surveyId} is not in the queue`)
      return stored
    },
  }
}

/** The surveys from this place on, as many as are read at once. */
const idsOf = (tasks: readonly Task[], from: number): readonly number[] => {
  const ids: number[] = []
  let rows = 0
  for (const { surveyId, reserve } of tasks.slice(from, from + AHEAD_SURVEYS_MAX)) {
    rows += reserve
    if (ids.length > 0 && rows > AHEAD_ROWS_MAX) break
    ids.push(surveyId)
  }
  return ids
}

/**
 * Commits the pages of a listing in their order, in groups, while the next pages are read. After a failed commit no later page is
 * committed: the listing would go on behind the gap.
 */

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
