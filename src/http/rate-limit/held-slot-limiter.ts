/**
 * The held slot: as many slots as the cap, and a request keeps its own from before the send until one window after
 * the response headers (`slot-timing.ts` has the proof). Bursts go at once, and nearly all of the cap is used.
 * Bottleneck's reservoir refresh, pacing and retries are not used: measured, they let up to twice the cap through.
 *
 * Feed it a bounded number of requests: Bottleneck takes about a millisecond to queue one.
 */
import Bottleneck from 'bottleneck'
import pLimit from 'p-limit'
import { abortReason } from '../../base/clock.js'
import { createSharedController } from '../signals.js'
import { HeldSlot, type HeldSlotOptions, type Slot } from './held-slot.js'
import type { SharedCap } from './shared/shared-cap.js'

/** Requests of one account on their way at the same time. */
export const IN_FLIGHT_MAX = 8

/**
 * The same while slots are used for the second or third time in a run. Whether the server counts more strictly than in windows shows
 * then, and all that are on their way are refused at once. Afterwards there is nothing new to be learned.
 */
const IN_FLIGHT_WHILE_LEARNING_MAX = 4
const LEARNING_ROUNDS = 2

export interface HeldSlotLimiterOptions extends HeldSlotOptions {
  /** Slots. */
  readonly cap: number
  /** Where other processes spend of the same cap: a request needs a slot there as well. */
  readonly shared?: SharedCap | undefined
}

export interface HeldSlotLimiter {
  /**
   * Runs `work`, which sends at most one request, once there is a slot, room among those in flight, no pause, and its turn in an even pace;
   * between that moment and the first line of `work` nothing else happens. Answers as soon as `work` does; the slot
   * is kept in the background. When `waitSignal` aborts before `work` has begun, it never will, and the promise
   * rejects at once; from then on `work` minds its own signals.
   */
  run<Value>(work: (slot: Slot) => Promise<Value>, waitSignal: AbortSignal): Promise<Value>
  /** Starts no work for so long. A pause is not lengthened by another. */
  pause(durationMs: number): void
  /** Wall clock; null when not paused. */
  pausedUntilMs(): number | null
  /** Slots that requests hold, those of the runs before included. */
  slotsInUse(): number
  /** Ends all holds, once the works have ended: the ledger keeps them for the next process. */
  close(): Promise<void>
}

export const createHeldSlotLimiter = (options: HeldSlotLimiterOptions): HeldSlotLimiter =>
  new BottleneckLimiter(options)

/**
 * Bottleneck sets its next job no earlier than the last one plus `minTime`, by the wall clock, also for a `minTime` of 0:
 * after the clock was put back by an hour, all jobs waited an hour. With this the next job is always due.
 */
const NEVER_WAITS = Number.NEGATIVE_INFINITY

class BottleneckLimiter implements HeldSlotLimiter {
  readonly #options: HeldSlotLimiterOptions
  readonly #slots: Bottleneck
  readonly #inFlight = pLimit(IN_FLIGHT_MAX)
  readonly #closing = createSharedController()
  readonly #works = new Set<Promise<void>>()
  #slotsInUse = 0
  /** Since the start, each as often as it was used. */
  #slotsUsed: number
  #hasBegun = false
  /** Monotonic clock. */
  #pausedUntil = 0

  constructor(options: HeldSlotLimiterOptions) {
    this.#options = options
    this.#slotsUsed = options.ledger.occupiedMs(options.cap).length
    this.#slots = new Bottleneck({ maxConcurrent: options.cap, minTime: NEVER_WAITS })
    // Until its first job Bottleneck goes by the wall clock at its construction: this one takes that out of the way. It takes
    // no slot, for where the clock was put back since then it waits for as long; `close` drops it then.
    this.#slots.schedule({ priority: 0, weight: 0 }, this.#begin).catch(endsTheWait)
    for (const leftMs of options.ledger.occupiedMs(options.cap)) {
      const until = options.clock.monotonicMs() + leftMs
      // Queued first and with the highest priority: they sit in their slots before anything is sent.
      const stay = () => this.#occupy(() => this.#waitUntil(until))
      this.#slots.schedule({ priority: 0 }, stay).catch(endsTheWait)
    }
  }

  run<Value>(work: (slot: Slot) => Promise<Value>, waitSignal: AbortSignal): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      if (waitSignal.aborted) return reject(abortReason(waitSignal))
      const waiting = { dropped: false }
      const drop = () => {
        waiting.dropped = true
        reject(abortReason(waitSignal))
      }
      waitSignal.addEventListener('abort', drop, { once: true })
      const begin = async (slot: HeldSlot): Promise<void> => {
        // Between the last look and the send nothing may come: no `await` for whoever need not wait.
        while (!waiting.dropped && !this.#mayGo(slot)) {
          await this.#wait(slot, waitSignal).catch((error: unknown) => {
            waiting.dropped = true
            reject(error)
          })
        }
        waitSignal.removeEventListener('abort', drop)
        if (waiting.dropped) return slot.giveBack()
        await work(slot)
          .finally(() => slot.settle())
          .then(resolve, reject)
      }
      // Bottleneck cannot give up a queued job: when its turn comes, a dropped one has nothing to do.
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

  /** No pause, its turn, and room in the cap of all processes. */
  #mayGo(slot: HeldSlot): boolean {
    return this.#leftMs() <= 0 && (this.#options.shared === undefined || slot.hasFreshClaim())
  }

  /** Waits for the next of these. Rejects with a `SharedCapError`, or when the signal aborts. */
  async #wait(slot: HeldSlot, waitSignal: AbortSignal): Promise<void> {
    const { clock, shared } = this.#options
    // Nobody keeps room from others while it cannot use it.
    slot.giveBack()
    const leftMs = this.#leftMs()
    if (leftMs > 0) await clock.sleep(leftMs, waitSignal)
    else if (shared !== undefined) slot.take(await shared.claim(waitSignal))
  }

  /** Until the pause is over and it is the next request's turn. */
  #leftMs(): number {
    return Math.max(this.#pauseLeftMs(), this.#options.pacer.leftMs(this.#options.clock.monotonicMs()))
  }

  /** Keeps queued jobs out of free slots while the pause lasts; those that sit in one already wait in `begin`. */
  async #keepQueued(): Promise<void> {
    await this.#slots.updateSettings({ reservoir: 0 })
    for (let leftMs = this.#pauseLeftMs(); leftMs > 0; leftMs = this.#pauseLeftMs()) {
      await this.#options.clock.sleep(leftMs, this.#closing.signal)
    }
    await this.#slots.updateSettings({ reservoir: null })
  }

  /** Keeps a slot until a time of the monotonic clock, or until the limiter is closed. */
  async #waitUntil(monotonicMs: number): Promise<void> {
    const { clock } = this.#options
    const leftMs = monotonicMs - clock.monotonicMs()
    if (leftMs > 0) await clock.sleep(leftMs, this.#closing.signal).catch(endsTheWait)
  }
}

/** A wait ends early when the limiter closes or its request is dropped; whom it concerns has been told. */
const endsTheWait = (): undefined => undefined
