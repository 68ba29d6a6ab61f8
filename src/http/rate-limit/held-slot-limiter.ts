/**
 * The held slot: there are as many slots as the cap allows requests. A request holds its slot from before the send until one window
 * after the response headers (docs/decisions/0018-held-slots-and-a-ledger.md; `slot-timing.ts` has the proof).
 *
 * Give it a bounded number of requests: Bottleneck takes about a millisecond to queue one.
 */
import Bottleneck from 'bottleneck'
import pLimit from 'p-limit'
import { createSharedController, joinSignals, onAbort, throwIfAnyAborted } from '../signals.js'
import { HeldSlot, type HeldSlotOptions, type Slot } from './held-slot.js'
import type { SharedCap } from './shared/shared-cap.js'

/** Requests of one account in flight at the same time. */
export const IN_FLIGHT_MAX = 8

/**
 * The same while slots are used for the second and third time in a run. A server that counts more strictly than in windows shows
 * itself then, and refuses all requests in flight at once. Later uses of a slot show nothing new.
 */
const IN_FLIGHT_WHILE_LEARNING_MAX = 4
const LEARNING_ROUNDS = 2

export interface HeldSlotLimiterOptions extends HeldSlotOptions {
  /** Number of slots. */
  readonly cap: number
  /** The cap that other processes use as well: a request also needs a slot there. */
  readonly shared?: SharedCap | undefined
}

export interface HeldSlotLimiter {
  /**
   * Runs `work`, which sends at most one request. It first waits for a slot, for room among the requests in flight, for the end of a
   * pause, and for the pacer. Nothing else happens between that moment and the first line of `work`. The promise settles with `work`;
   * the slot is held in the background. If one of `waitSignals` aborts before `work` has started, `work` never starts and the promise
   * rejects at once. Later aborts concern only `work` itself.
   */
  run<Value>(work: (slot: Slot) => Promise<Value>, waitSignals: readonly AbortSignal[]): Promise<Value>
  /** Starts no work for so long. A second pause does not lengthen the first. */
  pause(durationMs: number): void
  /** Wall clock; null when not paused. */
  pausedUntilMs(): number | null
  /** Slots that requests hold, including those of earlier runs. */
  slotsInUse(): number
  /** Waits until the running work has ended, then ends all holds. The ledger keeps them for the next process. */
  close(): Promise<void>
}

export const createHeldSlotLimiter = (options: HeldSlotLimiterOptions): HeldSlotLimiter =>
  new BottleneckLimiter(options)

/**
 * Bottleneck schedules the next job no earlier than the last one plus `minTime`, by the wall clock, even for a `minTime` of 0:
 * after the clock was put back by an hour, all jobs waited an hour. With this value the next job is always due.
 */
const NEVER_WAITS = Number.NEGATIVE_INFINITY

class BottleneckLimiter implements HeldSlotLimiter {
  readonly #options: HeldSlotLimiterOptions
  readonly #slots: Bottleneck
  readonly #inFlight = pLimit(IN_FLIGHT_MAX)
  readonly #closing = createSharedController()
  readonly #works = new Set<Promise<void>>()
  #slotsInUse = 0
  /** Uses of slots since the start. */
  #slotsUsed: number
  #hasBegun = false
  /** Monotonic clock. */
  #pausedUntil = 0

  constructor(options: HeldSlotLimiterOptions) {
    this.#options = options
    this.#slotsUsed = options.ledger.occupiedMs(options.cap).length
    this.#slots = new Bottleneck({ maxConcurrent: options.cap, minTime: NEVER_WAITS })
    // Before its first job Bottleneck uses the wall clock of its construction: this empty job absorbs that. It takes no slot,
    // because it waits for an hour if the clock was put back by one; `close` drops it then.
    this.#slots.schedule({ priority: 0, weight: 0 }, this.#begin).catch(endsTheWait)
    for (const leftMs of options.ledger.occupiedMs(options.cap)) {
      const until = options.clock.monotonicMs() + leftMs
      // Queued first and with the highest priority: they hold their slots before anything is sent.
      const stay = () => this.#occupy(() => this.#waitUntil(until))
      this.#slots.schedule({ priority: 0 }, stay).catch(endsTheWait)
    }
  }

  run<Value>(work: (slot: Slot) => Promise<Value>, waitSignals: readonly AbortSignal[]): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      throwIfAnyAborted(waitSignals)
      const waiting = { dropped: false }
      const drop = (error: unknown) => {
        waiting.dropped = true
        reject(error)
      }
      const listening = onAbort(waitSignals, drop)
      const begin = async (slot: HeldSlot): Promise<void> => {
        // Nothing may happen between the last check and the send: a request that need not wait has no `await` here.
        while (!waiting.dropped && !this.#mayGo(slot)) await this.#wait(slot, waitSignals).catch(drop)
        listening[Symbol.dispose]()
        if (waiting.dropped) return slot.giveBack()
        await work(slot)
          .finally(() => slot.settle())
          .then(resolve, reject)
      }
      // Bottleneck cannot remove a queued job: a dropped one does nothing when its turn comes.
      const job = () => (waiting.dropped ? Promise.resolve() : this.#occupy(() => this.#useSlot(begin)))
      this.#slots.schedule(job).catch(reject)
    })
  }

  pause(durationMs: number): void {
    if (this.#pauseLeftMs() > 0) return
    this.#pausedUntil = this.#options.clock.monotonicMs() + durationMs
    this.#options.shared?.pause(durationMs)
    void this.#keepQueued().catch(endsTheWait)
  }

  pausedUntilMs(): number | null {
    const leftMs = this.#pauseLeftMs()
    return leftMs > 0 ? Math.ceil(this.#options.clock.nowMs() + leftMs) : null
  }

  slotsInUse(): number {
    return this.#slotsInUse
  }

  async close(): Promise<void> {
    await Promise.all(this.#works)
    this.#closing.abort()
    if (!this.#hasBegun) this.#slots.stop({ dropWaitingJobs: true }).catch(endsTheWait)
    await this.#options.shared?.close()
  }

  readonly #begin = (): Promise<void> => {
    this.#hasBegun = true
    return Promise.resolve()
  }

  async #occupy(stay: () => Promise<void>): Promise<void> {
    this.#slotsInUse += 1
    try {
      await stay()
    } finally {
      this.#slotsInUse -= 1
    }
  }

  async #useSlot(begin: (slot: HeldSlot) => Promise<void>): Promise<void> {
    const slot = new HeldSlot(this.#options)
    this.#slotsUsed += 1
    const { cap } = this.#options
    const isLearning = this.#slotsUsed > cap && this.#slotsUsed <= (1 + LEARNING_ROUNDS) * cap
    this.#inFlight.concurrency = isLearning ? IN_FLIGHT_WHILE_LEARNING_MAX : IN_FLIGHT_MAX
    const work = this.#inFlight(() => begin(slot))
    this.#works.add(work)
    await work
    this.#works.delete(work)
    await this.#waitUntil(slot.heldUntil)
  }

  #pauseLeftMs(): number {
    return this.#pausedUntil - this.#options.clock.monotonicMs()
  }

  /** There is no pause, the pacer is ready, and the shared cap has a slot. */
  #mayGo(slot: HeldSlot): boolean {
    return this.#leftMs() <= 0 && (this.#options.shared === undefined || slot.hasFreshClaim())
  }

  /** Waits for the next of these. Rejects with a `SharedCapError`, or when the signal aborts. */
  async #wait(slot: HeldSlot, waitSignals: readonly AbortSignal[]): Promise<void> {
    const { clock, shared } = this.#options
    using joined = joinSignals(waitSignals)
    // A request that has to wait gives its slot of the shared cap back.
    slot.giveBack()
    const leftMs = this.#leftMs()
    if (leftMs > 0) await clock.sleep(leftMs, joined.signal)
    else if (shared !== undefined) slot.take(await shared.claim(joined.signal))
  }

  /** Until the pause has ended and the pacer is ready, milliseconds. */
  #leftMs(): number {
    return Math.max(this.#pauseLeftMs(), this.#options.pacer.leftMs(this.#options.clock.monotonicMs()))
  }

  /** Keeps queued jobs out of free slots during a pause. Jobs that have a slot already wait in `begin`. */
  async #keepQueued(): Promise<void> {
    await this.#slots.updateSettings({ reservoir: 0 })
    for (let leftMs = this.#pauseLeftMs(); leftMs > 0; leftMs = this.#pauseLeftMs()) {
      await this.#options.clock.sleep(leftMs, this.#closing.signal)
    }
    await this.#slots.updateSettings({ reservoir: null })
  }

  /** Holds a slot until a time of the monotonic clock, or until the limiter is closed. */
  async #waitUntil(monotonicMs: number): Promise<void> {
    const { clock } = this.#options
    const leftMs = monotonicMs - clock.monotonicMs()
    if (leftMs > 0) await clock.sleep(leftMs, this.#closing.signal).catch(endsTheWait)
  }
}

/** A wait ends early when the limiter closes or its request is dropped. The caller of that knows already. */
const endsTheWait = (): undefined => undefined
