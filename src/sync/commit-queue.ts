/**
 * Commits outcomes in groups, while reading goes on: outcomes that arrive during a commit go into the next one. A commit of many
 * outcomes costs hardly more than one of a few. So after a commit the next one waits for as long as that took, several times over,
 * and commits take a small part of the time however fast the API is. At the cap of the API, a commit has long ended when the next
 * outcome arrives, and that is committed at once (docs/decisions/0036-commits-are-grouped.md).
 *
 * A killed run loses what it has not committed. So no more is under way than the run has committed, and the first commits have no
 * pause: however early runs are killed, each brings the warehouse forward.
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
  /** Whether so many outcomes wait that no further survey should be read. */
  isFull(): boolean
  /** How many surveys may be under way, from the first request to the end of the commit: as many as were committed. */
  underWayMax(): number
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

  const isFull = () => waiting.length >= OUTCOMES_MAX || waitingRows >= ROWS_MAX

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
      if (isFull()) flush()
      return next
    },
    flush,
    isFull,
    underWayMax: () => committedOutcomes,
  }
}

const rowsIn = (outcome: BundleOutcome): number =>
  outcome.kind === 'refreshed'
    ? outcome.sources.length + outcome.sourceProgress.length + (outcome.days?.rows.length ?? 0)
    : 0
