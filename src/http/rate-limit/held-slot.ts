/**
 * One slot and what is known of its request: in the ledger, before it is believed; for the even pace; and, where the cap is shared, in
 * the claim that goes with it.
 */
import type { Clock } from '../../base/clock.js'
import type { Ledger } from './ledger.js'
import type { Pacer } from './pacer.js'
import type { Claim } from './shared/shared-cap.js'
import { holdAfterAnswerMs, holdAfterLossMs, type SlotTiming } from './slot-timing.js'

/** What a piece of work tells about its one request. A slot whose request was never told of is free at once. */
export interface Slot {
  /** Called right before the send. Throws `LedgerError`, and then nothing may be sent. */
  sending(): void
  /** The response headers are here. */
  answered(): void
  /** Not a byte of the request can have left, for certain. */
  neverSent(): void
}

export interface HeldSlotOptions {
  readonly timing: SlotTiming
  readonly ledger: Ledger
  readonly clock: Clock
  /** Keeps requests apart where bursts were refused. */
  readonly pacer: Pacer
}

/** A slot and what is known of its request. Every change is in the ledger before it is believed. */
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

  /** Nothing was sent in the name of the claim, if there is one. */
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

  /** The work is over: without a word on its request, that one's outcome is unknown. */
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
