/**
 * One slot and the state of its request. Every change goes to the ledger first, then to the pacer, and with a shared cap to the claim
 * in Redis.
 */
import type { Clock } from '../../base/clock.js'
import type { Ledger } from './ledger.js'
import type { Pacer } from './pacer.js'
import type { Claim } from './shared/shared-cap.js'
import { holdAfterAnswerMs, holdAfterLossMs, type SlotTiming } from './slot-timing.js'

/** How a piece of work reports its one request. If it reports none, the slot is free at once. */
export interface Slot {
  /** Called right before the send. Throws `ledger_unwritable`, and then nothing may be sent. */
  sending(): void
  /** The response headers have arrived. */
  answered(): void
  /** Certainly no byte of the request has left. */
  neverSent(): void
}

export interface HeldSlotOptions {
  readonly timing: SlotTiming
  readonly ledger: Ledger
  readonly clock: Clock
  /** Spaces requests after bursts were refused. */
  readonly pacer: Pacer
}

export class HeldSlot implements Slot {
  readonly #options: HeldSlotOptions
  #id: number | null = null
  #open = false
  #claim: Claim | null = null
  /** Monotonic clock. */
  heldUntil = 0

  constructor(options: HeldSlotOptions) {
    this.#options = options
  }

  take(claim: Claim): void {
    this.#claim = claim
  }

  hasFreshClaim(): boolean {
    return this.#claim?.isFresh() === true
  }

  /** Releases the claim, if there is one: nothing was sent with it. */
  giveBack(): void {
    this.#claim?.release()
    this.#claim = null
  }

  sending(): void {
    const { ledger, pacer, clock } = this.#options
    this.#id = ledger.send()
    pacer.sent(clock.monotonicMs())
    this.#open = true
    this.heldUntil = Number.POSITIVE_INFINITY
  }

  answered(): void {
    this.#end('answer', holdAfterAnswerMs(this.#options.timing))
  }

  neverSent(): void {
    this.#end('unsent', 0)
  }

  /** The work has ended. If it did not report an outcome, the outcome of the request is unknown. */
  settle(): void {
    this.#end('loss', holdAfterLossMs(this.#options.timing))
  }

  #end(event: 'answer' | 'loss' | 'unsent', holdMs: number): void {
    if (this.#id === null) this.giveBack()
    if (!this.#open || this.#id === null) return
    this.#open = false
    if (event === 'answer') this.#claim?.answered()
    else if (event === 'loss') this.#claim?.lost()
    else this.#claim?.release()
    this.heldUntil = this.#options.clock.monotonicMs() + holdMs
    this.#options.ledger.end(this.#id, event)
  }
}
