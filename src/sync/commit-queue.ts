/**
 * Commits outcomes in groups while reading goes on, because a commit of many costs hardly more than a commit of a few. At the cap
 * of the API each outcome is committed at once. A killed run loses what it has not committed, so that is bounded by what it has
 * committed (docs/decisions/0036-commits-are-grouped.md).
 */
import type { Clock } from '../base/clock.js'
import type { RowCountsByTable } from '../model/run.js'
import type { BundleOutcome } from '../model/warehouse.js'

/** Outcomes that wait for a commit. They bound the memory, and what the run after a killed one reads again. */
const OUTCOMES_MAX = 64
/** Rows of outcomes that wait for a commit: a survey may have thousands of sources. */
const ROWS_MAX = 2_000
/** The pause after a commit, as a multiple of its duration. */
const PAUSE_FACTOR = 9
const PAUSE_MS_MAX = 1_000

export interface CommitQueue {
  /** Resolves when the outcome is committed; rejects when its commit failed. */
  commit(outcome: BundleOutcome): Promise<void>
  /** Commits what waits without a pause. */
  flush(): void
  /** Whether too much waits, or too little is committed, to have more than these surveys under way. */
  isFull(underWay: number): boolean
}

export const createCommitQueue = (
  commitAll: (outcomes: readonly BundleOutcome[]) => Promise<RowCountsByTable>,
  committed: (rows: RowCountsByTable) => void,
  clock: Clock,
): CommitQueue => {
  let waiting: BundleOutcome[] = []
  let waitingRows = 0
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null
  let pauseEndsMs = 0
  let isUrgent = false
  let committedOutcomes = 0
  let endPause = () => {}

  const isLarge = () => waiting.length >= OUTCOMES_MAX || waitingRows >= ROWS_MAX

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
      committed(await commitAll(group))
      committedOutcomes += group.length
    } finally {
      const endedMs = clock.monotonicMs()
      const pauseMs = committedOutcomes < OUTCOMES_MAX ? 0 : PAUSE_FACTOR * (endedMs - startedMs)
      pauseEndsMs = endedMs + Math.min(PAUSE_MS_MAX, pauseMs)
    }
  }

  const flush = () => {
    isUrgent = true
    endPause()
  }

  return {
    commit: (outcome) => {
      waiting.push(outcome)
      waitingRows += rowsIn(outcome)
      // A failed commit rejects the promises of its own group only. The next group is committed all the same.
      next ??= last.then(commitWaiting, commitWaiting)
      last = next
      if (isLarge()) flush()
      return next
    },
    flush,
    isFull: (underWay) => isLarge() || underWay >= committedOutcomes,
  }
}

const rowsIn = (outcome: BundleOutcome): number =>
  outcome.kind === 'refreshed'
    ? outcome.sources.length + outcome.sourceProgress.length + (outcome.days?.rows.length ?? 0)
    : 0
