/**
 * The held slot: there are as many slots as the cap allows requests. A request holds its slot from before the send until one window
 * after the response headers (docs/decisions/cap.md#0018-a-request-holds-its-slot-until-a-window-after-its-answer; `slot-timing.ts` has the
 * proof). `slots.ts` keeps the slots.
 */
import pLimit from 'p-limit'
import { type Clock, sleep } from '../../base/clock.js'
import { joinSignals, onAbort, throwIfAnyAborted } from '../../base/signals.js'
import type { Ledger } from './ledger.js'
import type { Pacer } from './pacer.js'
import type { Claim, SharedCap } from './shared/shared-cap.js'
import { holdAfterAnswerMs, holdAfterLossMs, type SlotTiming } from './slot-timing.js'
import { createSlots, type FreeSlot } from './slots.js'

/** Requests of one account in flight at the same time. */
export const IN_FLIGHT_MAX = 8

interface HeldSlotLimiterOptions {
  readonly cap: number
  readonly timing: SlotTiming
  /** Without a ledger, a restart forgets the sent requests. */
  readonly ledger?: Pick<Ledger, 'occupiedMs' | 'send' | 'end'> | undefined
  readonly clock: Clock
  /** Spaces requests after bursts were refused. */
  readonly pacer?: Pacer | undefined
  /** The cap that other processes use as well. With it, a request also needs a slot of this cap. */
  readonly shared?: SharedCap | undefined
}

/** How a piece of work reports its one request. If it reports none, the slot is free at once. */
export type Slot = Pick<HeldSlot, 'sending' | 'answered' | 'neverSent'>

interface Waiting {
  readonly signals: readonly AbortSignal[]
  isDropped: boolean
  /** Ends the wait with a rejection. */
  drop(error: unknown): void
  /** Resolves when the work has ended, whatever its outcome. */
  begin(slot: HeldSlot): Promise<void>
}

export class HeldSlotLimiter {
  readonly #options: HeldSlotLimiterOptions
  readonly #slots: ReturnType<typeof createSlots>
  readonly #inFlight = pLimit(IN_FLIGHT_MAX)
  /** Requests begin one after another, in the order of the calls. */
  readonly #beginning = pLimit(1)
  /** Slots whose request has ended, with the time until which they are held, monotonic clock. */
  readonly #held = new Map<FreeSlot, number>()
  /** Work that has a slot and has not ended. */
  readonly #works = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  #waitsForSlot = false
  #slotsInUse: number
  /** Monotonic clock. */
  #pausedUntil = 0

  constructor(options: HeldSlotLimiterOptions) {
    const { cap, ledger, clock } = options
    const nowMs = clock.monotonicMs()
    const earlierHolds = ledger?.occupiedMs(cap) ?? []
    this.#options = options
    this.#slotsInUse = earlierHolds.length
    this.#slots = createSlots(cap)
    // Slots are given in the order of the calls, so the holds of earlier runs come before any request.
    for (const leftMs of earlierHolds)
      void this.#slots.take().then((free) => this.#hold(nowMs + leftMs, free))
  }

  /**
   * Runs `work`, which sends at most one request. It first waits for room among the requests in flight, for a slot, for the end of a pause,
   * and for the pacer. When all of these are given, the first line of `work` runs at once. The promise settles with `work`; the slot is
   * held in the background. If one of `waitSignals` aborts before `work` has started, `work` never starts and the promise rejects at once.
   * Later aborts concern only `work` itself.
   */
  run<Value>(work: (slot: Slot) => Promise<Value>, waitSignals: readonly AbortSignal[]): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      throwIfAnyAborted(waitSignals)
      const drop = (error: unknown) => {
        listening[Symbol.dispose]()
        waiting.isDropped = true
        reject(error)
      }
      const listening = onAbort(waitSignals, drop)
      const begin = (slot: HeldSlot) => {
        listening[Symbol.dispose]()
        const settled = work(slot).finally(() => slot.settle())
        return settled.then(resolve, reject)
      }
      const waiting: Waiting = { signals: waitSignals, isDropped: false, drop, begin }
      void this.#inFlight(async () => {
        const begun = await this.#beginning(() => this.#begin(waiting))
        await begun?.work
      })
    })
  }

  /** Starts no work for `durationMs`. A second pause does not lengthen the first. */
  pause(durationMs: number): void {
    if (this.#pauseLeftMs() > 0) return
    this.#pausedUntil = this.#options.clock.monotonicMs() + durationMs
    this.#options.shared?.pause(durationMs)
  }

  /** Wall clock; null when not paused. */
  pausedUntilMs(): number | null {
    const leftMs = this.#pauseLeftMs()
    return leftMs > 0 ? Math.ceil(this.#options.clock.nowMs() + leftMs) : null
  }

  /** When the next slot is free, wall clock; null if no request waits for one. */
  slotFreeAtMs(): number | null {
    const { cap, clock } = this.#options
    if (!this.#waitsForSlot || this.#slotsInUse < cap || this.#held.size === 0) return null
    return Math.ceil(clock.nowMs() + Math.min(...this.#held.values()) - clock.monotonicMs())
  }

  /** Slots that requests hold, requests of earlier runs included. */
  slotsInUse(): number {
    return this.#slotsInUse
  }

  /** Waits until the running work has ended, then ends all holds. The ledger keeps them for the next process. */
  async close(): Promise<void> {
    await Promise.all(this.#works)
    this.#closing.abort()
    this.#slots.close()
    await this.#options.shared?.close()
  }

  /** Begins the work at a moment when it has a slot, there is no pause, the pacer is ready, and the shared cap has given a slot. */
  async #begin(waiting: Waiting): Promise<{ readonly work: Promise<void> } | null> {
    if (waiting.isDropped) return null
    this.#waitsForSlot = true
    const free = await this.#slots.take()
    this.#waitsForSlot = false
    const slot = new HeldSlot(this.#options)
    using joined = joinSignals(waiting.signals)
    while (!waiting.isDropped && (this.#leftMs() > 0 || !slot.hasFreshClaim())) {
      // A request that has to wait returns its slot of the shared cap.
      slot.giveBack()
      await this.#wait(slot, joined.signal).catch(waiting.drop)
    }
    if (waiting.isDropped) {
      slot.giveBack()
      free()
      return null
    }
    this.#slotsInUse += 1
    const work = waiting.begin(slot)
    this.#works.add(work)
    void work.then(() => {
      this.#works.delete(work)
      return this.#hold(slot.heldUntil, free)
    })
    return { work }
  }

  /** Waits for the next condition. Rejects with an error `shared_cap_unreachable`, or when the signal aborts. */
  async #wait(slot: HeldSlot, signal: AbortSignal): Promise<void> {
    const leftMs = this.#leftMs()
    if (leftMs > 0) await sleep(this.#options.clock, leftMs, signal)
    else await slot.claim(signal)
  }

  #pauseLeftMs(): number {
    return this.#pausedUntil - this.#options.clock.monotonicMs()
  }

  #leftMs(): number {
    const { pacer, clock } = this.#options
    return Math.max(this.#pauseLeftMs(), pacer?.leftMs(clock.monotonicMs()) ?? 0)
  }

  /** Holds a slot until a time of the monotonic clock, or until the limiter is closed. */
  async #hold(heldUntil: number, free: FreeSlot): Promise<void> {
    const { clock } = this.#options
    const leftMs = heldUntil - clock.monotonicMs()
    this.#held.set(free, heldUntil)
    if (leftMs > 0) await sleep(clock, leftMs, this.#closing.signal).catch(endsTheWait)
    this.#held.delete(free)
    this.#slotsInUse -= 1
    free()
  }
}

const endsTheWait = (): undefined => undefined

/**
 * One slot and its request. Every change goes to the ledger first, then to the pacer, and last to the claim in Redis if the cap is shared.
 */
class HeldSlot {
  readonly #options: HeldSlotLimiterOptions
  #id: number | null = null
  #claim: Claim | null = null
  /** Monotonic clock. */
  heldUntil = 0

  constructor(options: HeldSlotLimiterOptions) {
    this.#options = options
  }

  async claim(signal: AbortSignal): Promise<void> {
    this.#claim = (await this.#options.shared?.claim(signal)) ?? null
  }

  /** Always true if no cap is shared. */
  hasFreshClaim(): boolean {
    return this.#options.shared === undefined || this.#claim?.isFresh() === true
  }

  giveBack(): void {
    this.#claim?.hold(0)
    this.#claim = null
  }

  /** Called right before the send. Throws `ledger_unwritable`, and then nothing may be sent. */
  sending(): void {
    const { ledger, pacer, clock } = this.#options
    this.#id = ledger?.send() ?? 0
    pacer?.sent(clock.monotonicMs())
    this.heldUntil = Number.POSITIVE_INFINITY
  }

  /** The response headers have arrived. */
  answered(): void {
    this.#end('answer', holdAfterAnswerMs(this.#options.timing))
  }

  /** Certainly no byte of the request has left. */
  neverSent(): void {
    this.#end('unsent', 0)
  }

  /** The work has ended. If it did not report an outcome, the outcome of the request is unknown. */
  settle(): void {
    this.#end('loss', holdAfterLossMs(this.#options.timing))
  }

  #end(event: 'answer' | 'loss' | 'unsent', holdMs: number): void {
    const [id, claim] = [this.#id, this.#claim]
    this.#id = null
    this.#claim = null
    claim?.hold(id === null ? 0 : holdMs)
    if (id === null) return
    this.heldUntil = this.#options.clock.monotonicMs() + holdMs
    this.#options.ledger?.end(id, event)
  }
}
