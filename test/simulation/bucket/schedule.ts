/** Virtual time of the bucket's simulation: the next event happens when the one before has nothing more to do. */
import type { Machine } from './machine.js'

interface Event {
  readonly dueMs: number
  readonly place: number
  readonly happen: () => void
}

/** The modules under test use no timer of their own: they get a `Clock`. So no global timer is replaced. */
export class Schedule {
  /** Milliseconds since the simulation began. */
  nowMs = 0
  /** The process whose event is happening; null while the network or the world acts. */
  current: Machine | null = null
  #events: Event[] = []
  #place = 0

  /** Returns a function that takes the event back. */
  after(ms: number, happen: () => void): () => void {
    const event = { dueMs: this.nowMs + Math.max(0, ms), place: this.#place, happen }
    this.#place += 1
    this.#events.push(event)
    return () => {
      this.#events = this.#events.filter((other) => other !== event)
    }
  }

  /** Lets time pass until `isDone`, at most until `endMs`. Returns false if nothing was left to happen, or it became too late. */
  async drive(isDone: () => boolean, endMs: number): Promise<boolean> {
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (isDone()) return true
      const [first, ...others] = this.#events
      if (first === undefined) return false
      const next = others.reduce(earlier, first)
      if (next.dueMs > endMs) return false
      this.#events = this.#events.filter((event) => event !== next)
      this.nowMs = next.dueMs
      this.current = null
      next.happen()
    }
  }

  /** Forgets everything that has not happened: requests under way never arrive. */
  clear(): void {
    this.#events = []
  }
}

const earlier = (a: Event, b: Event): Event =>
  b.dueMs < a.dueMs || (b.dueMs === a.dueMs && b.place < a.place) ? b : a
