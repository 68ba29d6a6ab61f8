/**
 * Writes items in batches. Each commit has the items that arrived since the previous commit, because many items cost hardly more than one
 * (docs/decisions/warehouse.md#0036-pages-and-outcomes-are-committed-in-batches).
 */
import { type Clock, sleep } from '../base/clock.js'

/**
 * A commit that took 30 ms is followed by a pause of 90 ms, so commits take at most a quarter of the time. Items that arrive in a pause are
 * written with one commit. A killed run loses them, and the next run reads them again.
 */
const PAUSE_FACTOR = 3
const PAUSE_MS_MAX = 250

export class Batch<Item> {
  readonly #commitAll: (items: readonly Item[]) => Promise<void>
  readonly #clock: Clock
  #items: Item[] = []
  #committed: Promise<void> = Promise.resolve()
  /** The end of the pause, monotonic clock. */
  #pausedUntilMs = 0

  /** `commitAll` is one transaction. */
  constructor(clock: Clock, commitAll: (items: readonly Item[]) => Promise<void>) {
    this.#clock = clock
    this.#commitAll = commitAll
  }

  /**
   * Resolves when all items so far are committed. After a failed commit nothing more is committed, and this always rejects with the error
   * of that commit.
   */
  get committed(): Promise<void> {
    return this.#committed
  }

  /** Adds an item to the next commit. Resolves and rejects as `committed`. */
  add(item: Item): Promise<void> {
    this.#items.push(item)
    if (this.#items.length === 1) this.#committed = this.#commitAfter(this.#committed)
    return this.#committed
  }

  async #commitAfter(earlier: Promise<void>): Promise<void> {
    await earlier
    const pauseMs = this.#pausedUntilMs - this.#clock.monotonicMs()
    if (pauseMs > 0) await sleep(this.#clock, pauseMs)
    const items = this.#items
    this.#items = []
    const startedMs = this.#clock.monotonicMs()
    await this.#commitAll(items)
    const endedMs = this.#clock.monotonicMs()
    this.#pausedUntilMs = endedMs + Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * (endedMs - startedMs))
  }
}
