/**
 * The requests of `--max-requests`, which the accounts of a run divide. Each account keeps to its allocation. Work that does
 * not fit waits for requests that other accounts do not use.
 */
import { type AllocationState, decide, limitOf } from './allocation.js'

/** One account's part of the budget. Dispose of it when the account needs no more requests: other accounts may wait for them. */
export interface Allocation extends Disposable {
  /** Whether `requests` more fit now into `part` (0 to 1) of the account's limit. */
  fits(requests: number, part?: number): boolean
  /** Counts a request that is sent. `reserved`: it had been reserved. */
  send(reserved: boolean): void
  /** Reserves requests. A negative number gives them back. Zero or less also says that a piece of work has ended. */
  reserve(requests: number): void
  /**
   * Waits until `requests` more may fit. After true the caller checks `fits` again. False when they will never fit, or when
   * `signal` aborts.
   */
  room(requests: number, signal: AbortSignal): Promise<boolean>
  /** Whether other accounts may still leave unused requests. */
  mayGrow(): boolean
}

/** An allocation for each weight. Weights are above 0. A `total` of null is no limit. */
export const createRequestBudget = (
  total: number | null,
  weights: readonly number[],
): readonly Allocation[] =>
  total === null ? weights.map(() => UNLIMITED) : new RequestBudget(total, weights).allocations()

/** The whole budget for one account. */
export const createWholeAllocation = (total: number | null): Allocation =>
  createRequestBudget(total, [1])[0] ?? UNLIMITED

const UNLIMITED: Allocation = Object.freeze({
  fits: () => true,
  send: () => undefined,
  reserve: () => undefined,
  room: () => Promise.resolve(true),
  mayGrow: () => false,
  [Symbol.dispose]: () => undefined,
})

class RequestBudget {
  readonly #total: number
  readonly #states: AllocationState[]
  /** By place of the account: a function that ends its wait. */
  readonly #waiting = new Map<number, (hasRoom: boolean) => void>()

  constructor(total: number, weights: readonly number[]) {
    this.#total = total
    this.#states = weights.map((weight) => ({
      weight,
      sent: 0,
      reserved: 0,
      waitsFor: null,
      granted: 0,
      ended: false,
    }))
  }

  allocations(): readonly Allocation[] {
    return this.#states.map((_, place) => this.#allocation(place))
  }

  #allocation(place: number): Allocation {
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
        if (requests <= 0) this.#applyDecision()
      },
      room: (requests, signal) => this.#room(place, requests, signal),
      mayGrow: () => this.#states.some(({ ended }, other) => other !== place && !ended),
      [Symbol.dispose]: () => {
        this.#update(place, () => ({ reserved: 0, ended: true }))
        this.#endWait(place, false)
        this.#applyDecision()
      },
    }
  }

  #room(place: number, requests: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const onAbort = () => {
        this.#endWait(place, false)
        this.#applyDecision()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.set(place, (hasRoom) => {
        signal.removeEventListener('abort', onAbort)
        resolve(hasRoom)
      })
      this.#update(place, () => ({ waitsFor: requests }))
      this.#applyDecision()
    })
  }

  #applyDecision(): void {
    const { go, end, grant } = decide(this.#total, this.#states)
    if (grant !== null)
      this.#update(grant, ({ sent, reserved, waitsFor }) => ({ granted: sent + reserved + (waitsFor ?? 0) }))
    for (const place of grant === null ? go : [grant]) this.#endWait(place, true)
    for (const place of end) this.#endWait(place, false)
  }

  #endWait(place: number, hasRoom: boolean): void {
    this.#update(place, () => ({ waitsFor: null }))
    this.#waiting.get(place)?.(hasRoom)
    this.#waiting.delete(place)
  }

  #used(place: number): number {
    const { sent = 0, reserved = 0 } = this.#states[place] ?? {}
    return sent + reserved
  }

  #update(place: number, change: (state: AllocationState) => Partial<AllocationState>): void {
    const state = this.#states[place]
    if (state !== undefined) this.#states[place] = { ...state, ...change(state) }
  }
}
