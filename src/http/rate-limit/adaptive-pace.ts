/**
 * What refusals teach about how to send. The held slot keeps the cap in every window that a server can look at, so a 429 that
 * is not of the same burst as another means one of two things, and both ask for evenly spaced requests for the rest of the run:
 * - **The server counts more strictly**, with a sliding-window counter. At the distance of `even-pace` it refuses nothing.
 * - **Somebody else spends of the cap**, or it is lower than ours. Then even requests are refused too: each such 429 lowers the rate to what
 *   was accepted in the last window, though by no more than a quarter, and each window without one gives a sixtieth of the cap back.
 *
 * The first is a trait of the server, and is worth remembering for the next run; the second is of the moment. They are told
 * apart twice: a counter cannot refuse what is not above the cap in two windows, and it does not refuse what is even.
 */
import { type Cap, counterMayRefuse, evenShare, intervalMs, spreadMs } from './even-pace.js'

export interface AdaptivePaceOptions {
  readonly cap: Cap
  /** Requests of the run before that may still count: they are part of what a counter sees. */
  readonly occupiedAtStart: number
  /** Whether a run before has found that the server counts more strictly: then nothing ever goes as a burst. */
  readonly isRemembered: boolean
  /** All times here are of a clock that never goes back, milliseconds. */
  readonly nowMs: number
}

export type PaceChange =
  /** From now on requests are even. `isCounter`: the server may count more strictly; else somebody else spends. */
  | { readonly kind: 'even'; readonly intervalMs: number; readonly isCounter: boolean }
  /** Even requests were refused. `refutes`: so often that it is not, or not only, the way of counting. */
  | { readonly kind: 'slower'; readonly intervalMs: number; readonly refutes: boolean }

/** Whose turn it is. */
export interface Turns {
  /** How long the next request has to wait for its turn; nothing or less: it may go. */
  leftMs(nowMs: number): number
  sent(nowMs: number): void
}

export interface AdaptivePace extends Turns {
  /** A request was accepted. */
  accepted(nowMs: number): void
  /** A 429 arrived that says something new: its request was sent after the last freeze. Nothing is sent for `freezeMs` now. */
  refused(nowMs: number, freezeMs: number): PaceChange
  /** Distance of requests; null while they may go in bursts. */
  intervalMs(): number | null
}

/** For whoever sends in bursts, come what may. */
export const ALWAYS_ITS_TURN: Turns = Object.freeze({ leftMs: () => 0, sent: () => undefined })

/**
 * For so many windows the bursts from before the change are still counted. Where a span began in the middle of a burst, room comes back
 * more slowly than requests go, so some even ones are refused as well: they slow us down only until then, and refute nothing.
 */
const SETTLING_WINDOWS = 2
/** What one refusal leaves of the share, at least. */
const SHARE_KEPT = 3 / 4
/** What a quiet window gives back, as a part of the cap. */
const REGAINED_PARTS = 60
/** Refusals of even requests in one run that rule a counter out. */
const REFUTING_REFUSALS = 3
/** A request that went late may be followed by one that is in time: part of `spreadMs`, the rest is the network's. */
const CATCH_UP_PART = 1 / 5

export const createAdaptivePace = (options: AdaptivePaceOptions): AdaptivePace => new Pace(options)

class Pace implements AdaptivePace {
  readonly #cap: Cap
  /** When the last requests were sent, one more than the cap at most. */
  readonly #sentMs: number[]
  /** When the last ones that were accepted were, as many as the cap at most. */
  readonly #acceptedMs: number[] = []
  /** Requests a window; null: bursts. */
  #share: number | null = null
  #dueMs = Number.NEGATIVE_INFINITY
  /** Until then refusals may be of what was sent before requests were even; null: that is over. */
  #settledMs: number | null = null
  /** The last refusal, or the last time that a part of the share came back. */
  #quietSinceMs: number
  #refusals = 0

  constructor({ cap, occupiedAtStart, isRemembered, nowMs }: AdaptivePaceOptions) {
    this.#cap = cap
    this.#sentMs = Array.from({ length: occupiedAtStart }, () => nowMs)
    this.#quietSinceMs = nowMs
    if (isRemembered) this.#begin(nowMs)
  }

  leftMs(nowMs: number): number {
    return this.#share === null ? 0 : this.#dueMs - nowMs
  }

  sent(nowMs: number): void {
    remember(this.#sentMs, nowMs, this.#cap.requests + 1)
    if (this.#share === null) return
    const share = this.#regained(nowMs, this.#share)
    this.#share = share
    const catchUpMs = CATCH_UP_PART * spreadMs(this.#cap)
    this.#dueMs = Math.max(this.#dueMs, nowMs - catchUpMs) + intervalMs(this.#cap, share)
  }

  accepted(nowMs: number): void {
    remember(this.#acceptedMs, nowMs, this.#cap.requests)
  }

  refused(nowMs: number, freezeMs: number): PaceChange {
    const { perMs } = this.#cap
    this.#quietSinceMs = nowMs
    // The server says when there is room for one request. From there on the room grows evenly, and jitter must not be ahead of it.
    this.#dueMs = nowMs + freezeMs + spreadMs(this.#cap)
    if (this.#share === null) {
      const share = this.#begin(nowMs)
      const isCounter = counterMayRefuse(this.#cap, countSince(this.#sentMs, nowMs - 2 * perMs))
      return { kind: 'even', intervalMs: intervalMs(this.#cap, share), isCounter }
    }
    if (this.#settledMs === null) this.#refusals += 1
    const accepted = Math.min(this.#share - 1, countSince(this.#acceptedMs, nowMs - perMs))
    this.#share = Math.max(Math.min(1, this.#share), this.#share * SHARE_KEPT, accepted)
    return {
      kind: 'slower',
      intervalMs: intervalMs(this.#cap, this.#share),
      refutes: this.#settledMs === null && this.#refusals === REFUTING_REFUSALS,
    }
  }

  intervalMs(): number | null {
    return this.#share === null ? null : intervalMs(this.#cap, this.#share)
  }

  #begin(nowMs: number): number {
    const share = evenShare(this.#cap)
    this.#share = share
    this.#settledMs = nowMs + SETTLING_WINDOWS * this.#cap.perMs
    return share
  }

  #regained(nowMs: number, share: number): number {
    const { requests, perMs } = this.#cap
    if (this.#settledMs !== null && nowMs >= this.#settledMs) {
      this.#settledMs = null
      this.#quietSinceMs = nowMs
      return evenShare(this.#cap)
    }
    const windows = Math.floor((nowMs - this.#quietSinceMs) / perMs)
    this.#quietSinceMs += windows * perMs
    return Math.min(evenShare(this.#cap), share + windows * Math.ceil(requests / REGAINED_PARTS))
  }
}

const remember = (momentsMs: number[], nowMs: number, countMax: number): void => {
  momentsMs.push(nowMs)
  if (momentsMs.length > countMax) momentsMs.shift()
}

const countSince = (momentsMs: readonly number[], sinceMs: number): number =>
  momentsMs.filter((atMs) => atMs > sinceMs).length
