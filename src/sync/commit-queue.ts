/**
 * Commits pages of a listing, or outcomes of surveys, in groups while reading goes on, because a commit of many costs hardly more
 * than a commit of a few. At the cap of the API each is committed at once. A killed run loses what it has not committed, so that
 * is bounded by what it has committed (docs/decisions/warehouse.md#0036-pages-and-outcomes-are-committed-in-groups).
 */
import type { Clock } from '../base/clock.js'

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
