/**
 * The requests of `--max-requests`, which the accounts of a run have in common. Each keeps to its share, and waits with
 * what does not fit for what the others leave.
 */
import { decide, limitOf, type ShareState } from './request-shares.js'

/** One account's part in it. Dispose of it when the account needs no more: the others are waiting. */
export interface RequestShare extends Disposable {
  /** Whether so many more fit now into `part` of what the account may use, from 0 to 1. */
  fits(requests: number, part?: number): boolean
  /** One request is sent; `reserved` says that it was held for it. */
  send(reserved: boolean): void
  /** Holds so many; 0 or a negative number gives back, and ends a piece of work. */
  reserve(requests: number): void
  /**
   * Waits until so many more may fit: true, and whoever asks looks again. False when they never will, or `signal` aborts.
   */
  room(requests: number, signal: AbortSignal): Promise<boolean>
  /** Whether others may still leave something. */
  mayGrow(): boolean
}

/** `total` null: as many as anybody likes. A share for each of the weights, which are more than 0. */
export const createRequestPot = (
  total: number | null,
  weights: readonly number[],
): readonly RequestShare[] =>
  total === null ? weights.map(() => UNLIMITED) : new Pot(total, weights).shares()

/** All of it for one. */
export const createWholeShare = (total: number | null): RequestShare =>
  createRequestPot(total, [1])[0] ?? UNLIMITED

const UNLIMITED: RequestShare = Object.freeze({
  fits: () => true,
  send: () => undefined,
  reserve: () => undefined,
  room: () => Promise.resolve(true),
  mayGrow: () => false,
  [Symbol.dispose]: () => undefined,
})

class Pot {
  readonly #total: number
  readonly #states: ShareState[]
  /** Tells the account at a place what was decided while it waits. */
  readonly #waiting = new Map<number, (hasRoom: boolean) => void>()

  constructor(total: number, weights: readonly number[]) {
    this.#total = total
    this.#states = weights.map((weight) => ({
      weight,
      sent: 0,
      reserved: 0,
      wanted: null,
      granted: 0,
      ended: false,
    }))
  }

  shares(): readonly RequestShare[] {
    return this.#states.map((_, place) => this.#share(place))
  }

  #share(place: number): RequestShare {
    return {
      fits: (requests, part = 1) =>
        this.#used(place) + requests <= limitOf(this.#total, this.#states, place) * part,
      send: (reserved) =>
        this.#update(place, ({ sent, reserved: held }) => ({
          sent: sent + 1,
          reserved: reserved ? held - 1 : held,
        })),
      reserve: (requests) => {
        this.#update(place, ({ reserved }) => ({ reserved: reserved + requests }))
        if (requests <= 0) this.#look()
      },
      room: (requests, signal) => this.#room(place, requests, signal),
      mayGrow: () => this.#states.some(({ ended }, other) => other !== place && !ended),
      [Symbol.dispose]: () => {
        this.#update(place, () => ({ reserved: 0, ended: true }))
        this.#tell(place, false)
        this.#look()
      },
    }
  }

  #room(place: number, requests: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const onAbort = () => {
        this.#tell(place, false)
        this.#look()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.set(place, (hasRoom) => {
        signal.removeEventListener('abort', onAbort)
        resolve(hasRoom)
      })
      this.#update(place, () => ({ wanted: requests }))
      this.#look()
    })
  }

  #look(): void {
    const { go, end, grant } = decide(this.#total, this.#states)
    if (grant !== null)
      this.#update(grant, ({ sent, reserved, wanted }) => ({ granted: sent + reserved + (wanted ?? 0) }))
    for (const place of grant === null ? go : [grant]) this.#tell(place, true)
    for (const place of end) this.#tell(place, false)
  }

  #tell(place: number, hasRoom: boolean): void {
    this.#update(place, () => ({ wanted: null }))
    this.#waiting.get(place)?.(hasRoom)
    this.#waiting.delete(place)
  }

  #used(place: number): number {
    const { sent = 0, reserved = 0 } = this.#states[place] ?? {}
    return sent + reserved
  }

  #update(place: number, change: (state: ShareState) => Partial<ShareState>): void {
    const state = this.#states[place]
    if (state !== undefined) this.#states[place] = { ...state, ...change(state) }
  }
}
