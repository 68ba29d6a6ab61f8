/**
 * The held slot: there are as many slots as the cap allows requests. A request holds its slot from before the send until one window
 * after the response headers (docs/decisions/cap.md#0018-a-request-holds-its-slot-until-a-window-after-its-answer; `slot-timing.ts` has the
 * proof). `slot-blocks.ts` keeps the slots.
 */
import { type Clock, sleep } from '../../base/clock.js'
import { joinSignals, onAbort, throwIfAnyAborted } from '../../base/signals.js'
import type { Ledger } from './ledger.js'
import type { Pacer } from './pacer.js'
import type { Claim, SharedCap } from './shared/shared-cap.js'
import { createSlotBlocks, type FreeSlot } from './slot-blocks.js'
import { holdAfterAnswerMs, holdAfterLossMs, type SlotTiming } from './slot-timing.js'

/** Requests of one account in flight at the same time. */
export const IN_FLIGHT_MAX = 8

/**
 * The same while slots are used for the second and third time in a run. A server that counts more strictly than in windows shows itself
 * then, and refuses all requests in flight at once. Later uses show nothing new.
 */
const IN_FLIGHT_WHILE_LEARNING_MAX = 4
const LEARNING_ROUNDS = 2

interface HeldSlotLimiterOptions {
  readonly cap: number
  readonly timing: SlotTiming
  /** Without it a restart forgets the sent requests. */
  readonly ledger?: Pick<Ledger, 'occupiedMs' | 'send' | 'end'> | undefined
  readonly clock: Clock
  /** Spaces requests after bursts were refused. */
  readonly pacer?: Pacer | undefined
  /** The cap that other processes use as well: a request also needs a slot there. */
  readonly shared?: SharedCap | undefined
}

/** How a piece of work reports its one request. If it reports none, the slot is free at once. */
export type Slot = Pick<HeldSlot, 'sending' | 'answered' | 'neverSent'>

interface Waiting {
  readonly signals: readonly AbortSignal[]
  isDropped: boolean
  /** Ends the wait: its promise rejects. */
  drop(error: unknown): void
  /** Resolves when the work has ended, whatever its outcome. */
  begin(slot: HeldSlot): Promise<void>
}

export class HeldSlotLimiter {
  readonly #options: HeldSlotLimiterOptions
  readonly #slots: ReturnType<typeof createSlotBlocks>
  /** Holds of earlier runs that have no slot here yet, until a time of the monotonic clock. They get one before anything is sent. */
  readonly #earlierHolds: number[]
  readonly #queue = new Set<Waiting>()
  /** Slots after their request, and until when they are held: a time of the monotonic clock. */
  readonly #held = new Map<FreeSlot, number>()
  /** Work that has a slot and has not ended. */
  readonly #works = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  #inFlight = 0
  #slotsInUse: number
  #slotsUsed: number
  /** Monotonic clock. */
  #pausedUntil = 0
  #isTimed = false

  constructor(options: HeldSlotLimiterOptions) {
    const { cap, ledger, clock } = options
    const nowMs = clock.monotonicMs()
    this.#options = options
    this.#earlierHolds = (ledger?.occupiedMs(cap) ?? []).map((leftMs) => nowMs + leftMs)
    this.#slotsInUse = this.#earlierHolds.length
    this.#slotsUsed = this.#earlierHolds.length
    this.#slots = createSlotBlocks(cap, () => this.#advance())
    this.#advance()
  }

  /**
   * Runs `work`, which sends at most one request. It first waits for a slot, for room among the requests in flight, for the end of a
   * pause, and for the pacer. Nothing else happens between that moment and the first line of `work`. The promise settles with `work`;
   * the slot is held in the background. If one of `waitSignals` aborts before `work` has started, `work` never starts and the promise
   * rejects at once. Later aborts concern only `work` itself.
   */
  run<Value>(work: (slot: Slot) => Promise<Value>, waitSignals: readonly AbortSignal[]): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      throwIfAnyAborted(waitSignals)
      const drop = (error: unknown) => {
        listening[Symbol.dispose]()
        waiting.isDropped = true
        this.#queue.delete(waiting)
        reject(error)
      }
      const listening = onAbort(waitSignals, drop)
      const begin = (slot: HeldSlot) => {
        listening[Symbol.dispose]()
        const settled = work(slot).finally(() => slot.settle())
        return settled.then(resolve, reject)
      }
      const waiting: Waiting = { signals: waitSignals, isDropped: false, drop, begin }
      this.#queue.add(waiting)
      this.#advance()
    })
  }

  /** Starts no work for so long. A second pause does not lengthen the first. */
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
    if (this.#queue.size === 0 || this.#slotsInUse < cap || this.#held.size === 0) return null
    return Math.ceil(clock.nowMs() + Math.min(...this.#held.values()) - clock.monotonicMs())
  }

  /** Slots that requests hold, including those of earlier runs. */
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

  /** Begins work in the order of the queue, as far as slots, room in flight, pause and pacer allow. */
  #advance(): void {
    this.#slots.request(this.#earlierHolds.length + this.#queue.size)
    while (this.#earlierHolds.length > 0) {
      const free = this.#slots.take()
      if (free === null) return
      void this.#hold(this.#earlierHolds.shift() ?? 0, free)
    }
    for (const waiting of this.#queue) {
      if (this.#inFlight >= this.#inFlightMax()) return
      if (this.#leftMs() > 0) {
        this.#advanceLater()
        return
      }
      const free = this.#slots.take()
      if (free === null) return
      this.#queue.delete(waiting)
      void this.#useSlot(waiting, free)
    }
  }

  #advanceLater(): void {
    if (this.#isTimed) return
    this.#isTimed = true
    const advance = () => {
      this.#isTimed = false
      this.#advance()
    }
    sleep(this.#options.clock, this.#leftMs(), this.#closing.signal).then(advance, endsTheWait)
  }

  #inFlightMax(): number {
    const { cap } = this.#options
    const isLearning = this.#slotsUsed >= cap && this.#slotsUsed < (1 + LEARNING_ROUNDS) * cap
    return isLearning ? IN_FLIGHT_WHILE_LEARNING_MAX : IN_FLIGHT_MAX
  }

  async #useSlot(waiting: Waiting, free: FreeSlot): Promise<void> {
    const { shared } = this.#options
    const slot = new HeldSlot(this.#options)
    this.#slotsInUse += 1
    this.#slotsUsed += 1
    this.#inFlight += 1
    // Without a shared cap nothing happens between the conditions of `#advance` and the send.
    const work = shared === undefined ? waiting.begin(slot) : this.#claimAndBegin(shared, waiting, slot)
    this.#works.add(work)
    await work
    this.#works.delete(work)
    this.#inFlight -= 1
    this.#advance()
    await this.#hold(slot.heldUntil, free)
  }

  /** Begins the work at a moment when there is no pause, the pacer is ready and the shared cap has given a slot. */
  async #claimAndBegin(shared: SharedCap, waiting: Waiting, slot: HeldSlot): Promise<void> {
    using joined = joinSignals(waiting.signals)
    while (!waiting.isDropped && (this.#leftMs() > 0 || !slot.hasFreshClaim())) {
      // A request that has to wait gives its slot of the shared cap back.
      slot.giveBack()
      await this.#wait(shared, slot, joined.signal).catch(waiting.drop)
    }
    if (waiting.isDropped) slot.giveBack()
    else await waiting.begin(slot)
  }

  /** Waits for the next condition. Rejects with an error `shared_cap_unreachable`, or when the signal aborts. */
  async #wait(shared: SharedCap, slot: HeldSlot, signal: AbortSignal): Promise<void> {
    const leftMs = this.#leftMs()
    if (leftMs > 0) await sleep(this.#options.clock, leftMs, signal)
    else slot.take(await shared.claim(signal))
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

/** One slot and its request. Every change goes to the ledger first, then to the pacer, and with a shared cap to the claim in Redis. */
class HeldSlot {
  readonly #options: HeldSlotLimiterOptions
  #id: number | null = null
  #claim: Claim | null = null
  /** Monotonic clock. */
  heldUntil = 0

  constructor(options: HeldSlotLimiterOptions) {
    this.#options = options
  }

  take(claim: Claim): void {
    this.#claim = claim
  }

  hasFreshClaim(): boolean {
    return this.#claim?.isFresh() === true
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
