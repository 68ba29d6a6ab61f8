/**
 * Time that passes only when nothing else happens. All timers and clocks of the process use it. So the real limiter, the real
 * timeouts and the rate windows of the reference server need no real time. The order of events does not depend on the machine:
 * the next timer fires when no file or database operation is under way.
 */
import { generations } from './generation.js'

interface Timer {
  readonly id: number
  readonly dueMs: number
  readonly fire: () => void
  readonly isDead: () => boolean
}

/** Nothing is under way and no timer is left, but the run has not ended. */
export class StuckError extends Error {}

export class VirtualTime {
  /** Milliseconds since the simulation began; never goes back. */
  nowMs = 0
  /** The difference between the wall clock and `nowMs`. */
  wallMs = Date.UTC(2026, 2, 1, 1)
  readonly #timers = new Map<number, Timer>()
  #nextId = 1
  #underWay = 0
  #immediates = 0
  #resolveIdle: (() => void) | null = null
  readonly #results = new Map<number, () => void>()
  readonly #realImmediate = setImmediate

  /** Replaces the clocks and timers of this process for good. */
  install(): void {
    const immediate = this.#realImmediate
    const set = (callback: (...given: unknown[]) => void, afterMs = 0, ...given: unknown[]) =>
      this.#set(() => callback(...given), afterMs)
    const clear = (timer: unknown) => {
      if (typeof timer === 'object' && timer !== null && 'id' in timer) this.#timers.delete(Number(timer.id))
    }
    const repeat = (callback: () => void, everyMs: number) => {
      const handle = { ...set(() => undefined), id: 0 }
      const again = () => {
        handle.id = this.#set(
          () => {
            again()
            callback()
          },
          Math.max(1, everyMs),
        ).id
      }
      again()
      return handle
    }
    Object.assign(globalThis, {
      setTimeout: set,
      clearTimeout: clear,
      setInterval: repeat,
      clearInterval: clear,
      setImmediate: (callback: (...given: unknown[]) => void, ...given: unknown[]) => {
        this.#immediates += 1
        return immediate(() => {
          this.#immediates -= 1
          callback(...given)
        })
      },
    })
    AbortSignal.timeout = (afterMs) => {
      const controller = new AbortController()
      set(() => controller.abort(new DOMException('the time is up', 'TimeoutError')), afterMs)
      return controller.signal
    }
    Date.now = () => Math.floor(this.wallMs + this.nowMs)
    Object.defineProperty(performance, 'now', { value: () => this.nowMs, configurable: true })
  }

  /**
   * Waits for `work` in real time. Results are delivered when all operations under way have ended, in the order in which the
   * operations began, because the faster of two operations must not matter.
   */
  async underWay<Value>(work: () => Promise<Value>): Promise<Value> {
    if (generations.getStore() === undefined) return await work()
    const place = this.#nextId
    this.#nextId += 1
    this.#underWay += 1
    try {
      return await work()
    } finally {
      this.#underWay -= 1
      if (this.#underWay === 0) this.#resolveIdle?.()
      await new Promise<void>((resolve) => this.#results.set(place, resolve))
    }
  }

  #deliver(): boolean {
    const place = Math.min(...this.#results.keys())
    const resolve = this.#results.get(place)
    this.#results.delete(place)
    resolve?.()
    return resolve !== undefined
  }

  /** Lets time pass until `work` has ended. Rejects with a `StuckError` when nothing more can happen. */
  async drive<Value>(work: Promise<Value>): Promise<Value> {
    let done = false
    const watched = work.finally(() => {
      done = true
    })
    watched.catch(() => undefined)
    while (!done) {
      await this.idle(() => done)
      if (done) break
      if (!this.#fireNext()) throw new StuckError('nothing is left to wait for, and the run has not ended')
    }
    return await watched
  }

  /** Resolves when nothing is under way in this process, or when `enough` returns true. */
  async idle(enough: () => boolean = () => false): Promise<void> {
    for (let quiet = 0; quiet < QUIET_ITERATIONS && !enough(); ) {
      await new Promise<void>((resolve) => this.#realImmediate(resolve))
      if (this.#underWay > 0) {
        quiet = 0
        await new Promise<void>((resolve) => {
          this.#resolveIdle = resolve
        })
        this.#resolveIdle = null
      } else if (this.#immediates > 0 || (quiet === QUIET_ITERATIONS - 1 && filesAreBusy())) quiet = 0
      else if (quiet === QUIET_ITERATIONS - 1 && this.#deliver()) quiet = 0
      else quiet += 1
    }
  }

  sweep(): void {
    for (const [id, timer] of this.#timers) if (timer.isDead()) this.#timers.delete(id)
  }

  #set(fire: () => void, afterMs: number) {
    const id = this.#nextId
    this.#nextId += 1
    const generation = generations.getStore()
    const wait = Number.isFinite(afterMs) ? Math.max(0, afterMs) : 0
    this.#timers.set(id, {
      id,
      dueMs: this.nowMs + wait,
      fire: () => (generation === undefined ? fire() : generations.run(generation, fire)),
      isDead: () => generation?.dead === true,
    })
    const same = () => handle
    const handle = { id, ref: same, unref: same, hasRef: () => true, refresh: same }
    return handle
  }

  #fireNext(): boolean {
    let next: Timer | null = null
    for (const timer of this.#timers.values()) {
      if (timer.isDead()) this.#timers.delete(timer.id)
      else if (next === null || timer.dueMs < next.dueMs) next = timer
    }
    if (next === null) return false
    this.#timers.delete(next.id)
    this.nowMs = Math.max(this.nowMs, next.dueMs)
    next.fire()
    return true
  }
}

/** Whether file operations that are not counted as steps are under way. */
const filesAreBusy = (): boolean => process.getActiveResourcesInfo().some((name) => /^F(?:S|ILE)/i.test(name))

/** After so many iterations of the event loop without anything new, nothing is under way. Streams need a few. */
const QUIET_ITERATIONS = 3
