/**
 * Many surveys, or pages of a listing, are read and written together, because many cost hardly more than a few
 * (docs/decisions/warehouse.md#0036-pages-and-outcomes-are-committed-in-groups).
 */
import type { Clock } from '../base/clock.js'
import type { Pagination } from '../model/survey-source.js'
import type { AccountWarehouse, ListingPage, StoredBundle } from '../model/warehouse.js'
import type { Task } from '../rules/queue.js'
import { addRows, type Run } from './run-state.js'

/** Items that wait for a commit, and their rows. They bound the memory. */
const ITEMS_MAX = 256
const ROWS_MAX = 5_000
/** Before each commit. A killed run loses what it has read meanwhile, and the next one reads it again. */
const WAIT_MS = 250

interface CommitQueueOptions<Item> {
  /** One transaction. A failed one does not stop the queue. */
  commitAll(items: readonly Item[]): Promise<void>
  rowsIn(item: Item): number
  readonly clock: Clock
}

export class CommitQueue<Item> {
  readonly #options: CommitQueueOptions<Item>
  #waiting: Item[] = []
  #waitingRows = 0
  #last: Promise<void> = Promise.resolve()
  #next: Promise<void> | null = null
  #isUrgent = false
  #endWait = () => {}
  readonly #underWay = new Set<Promise<void>>()

  constructor(options: CommitQueueOptions<Item>) {
    this.#options = options
  }

  /** Resolves when the item is committed; rejects when its commit failed. */
  commit(item: Item): Promise<void> {
    this.#waiting.push(item)
    this.#waitingRows += this.#options.rowsIn(item)
    const commitWaiting = () => this.#commitWaiting()
    // A failed commit rejects the promises of its own group only. The next group is committed all the same.
    this.#next ??= this.#last.then(commitWaiting, commitWaiting)
    this.#last = this.#next
    if (this.isFull()) this.flush()
    return this.#last
  }

  /** Commits what waits at once. */
  flush(): void {
    this.#isUrgent = true
    this.#endWait()
  }

  /** `work` ends with a commit, and never rejects. */
  track(work: Promise<void>): void {
    const ended = work.finally(() => this.#underWay.delete(ended))
    this.#underWay.add(ended)
  }

  isIdle(): boolean {
    return this.#underWay.size === 0
  }

  /** Whether too much waits to have more work under way. */
  isFull(): boolean {
    return this.#waiting.length >= ITEMS_MAX || this.#waitingRows >= ROWS_MAX
  }

  async oneEnds(): Promise<void> {
    await Promise.race(this.#underWay)
  }

  async #wait(): Promise<void> {
    if (this.#isUrgent) return
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(WAIT_MS, resolve)
      this.#endWait = () => {
        cancel()
        resolve()
      }
    })
  }

  async #commitWaiting(): Promise<void> {
    await this.#wait()
    const group = this.#waiting
    this.#waiting = []
    this.#waitingRows = 0
    this.#next = null
    this.#isUrgent = false
    await this.#options.commitAll(group)
  }
}

/**
 * Commits the pages of a listing in their order while the next pages are read. After a failed commit no later page is
 * committed: the listing would go on behind the gap.
 */
export const createPageCommits = ({ warehouse, observer, log, clock, state }: Omit<Run, 'budget'>) => {
  const { account } = warehouse
  let failure: { readonly error: unknown } | null = null
  const throwFailure = (): void => {
    if (failure !== null) throw failure.error
  }
  const commits = new CommitQueue<ListingPage>({
    commitAll: async (pages) => {
      throwFailure()
      try {
        addRows(state, { surveys: await warehouse.commitListingPages(pages) })
      } catch (error) {
        failure = { error }
        throw error
      }
    },
    rowsIn: ({ surveys, rejections }) => surveys.length + rejections.length,
    clock,
  })
  const commit = async (page: ListingPage, { current_page, total_pages }: Pagination): Promise<void> => {
    const { counts } = state
    await commits.commit(page)
    counts.surveysListed += page.surveys.length
    log.debug({ account, page: page.page }, 'committed a page of the listing')
    observer.listed({ account, page: current_page, pages: total_pages, surveys: counts.surveysListed })
  }
  const oneEnds = async (): Promise<void> => {
    // Nothing more arrives for the next commit.
    commits.flush()
    await commits.oneEnds()
  }
  /** Commits what waits. Rejects when a commit has failed. */
  const allEnd = async (): Promise<void> => {
    while (!commits.isIdle()) await oneEnds()
    throwFailure()
  }
  return {
    allEnd,
    /** Resolves when the next page may be read. Rejects when a commit has failed. */
    add: async (page: ListingPage, pagination: Pagination): Promise<void> => {
      // `allEnd` and the next page throw the error.
      commits.track(commit(page, pagination).catch(() => undefined))
      while (commits.isFull()) await oneEnds()
      throwFailure()
    },
    /** Whether surveys are queued, also by pages that wait for their commit. */
    hasTasks: async (): Promise<boolean> => {
      await allEnd()
      return await warehouse.hasTasks()
    },
  }
}

/** Surveys, and rows of their sources, that are read ahead. They bound the memory. */
const AHEAD_SURVEYS_MAX = 256
const AHEAD_ROWS_MAX = 2_000

/** What is stored of each survey in the queue, read for many at a time. `tasks` are in the order in which they are taken. */
export const readStoredAhead = (
  warehouse: Pick<AccountWarehouse, 'storedBundles'>,
  tasks: readonly Task[],
): ((task: Task) => Promise<StoredBundle>) => {
  const ahead = new Map<number, Promise<ReadonlyMap<number, StoredBundle>>>()

  return async ({ surveyId }) => {
    if (!ahead.has(surveyId)) {
      const ids = idsOf(
        tasks,
        tasks.findIndex((task) => task.surveyId === surveyId),
      )
      const read = warehouse.storedBundles(ids)
      for (const id of ids) ahead.set(id, read)
    }
    const read = ahead.get(surveyId)
    ahead.delete(surveyId)
    const stored = (await read)?.get(surveyId)
    if (stored === undefined) throw new TypeError(`survey ${surveyId} is not in the queue`)
    return stored
  }
}

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
