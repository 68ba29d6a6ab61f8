/**
 * One process: its clocks, its local directory, and when it is killed or stands still. Each store request, file operation, API request
 * and wake-up is a step.
 */
import type { Clock } from '../../../src/base/clock.js'
import { never } from '../generation.js'
import type { Random } from '../random.js'

/** The nth step, or the nth step whose name begins so. */
interface At {
  readonly name: string
  readonly nth: number
}

/** A pause at a step. A suspended machine stops its monotonic clock too. */
interface Pause {
  readonly at: At
  readonly ms: number
  readonly isSuspended: boolean
}

export interface Fate {
  readonly killAt: At | null
  readonly pause: Pause | null
}

/** What lasts of a machine over its runs. */
export interface Place {
  readonly name: string
  /** The difference of its wall clock to true time, milliseconds. */
  readonly skewMs: number
  readonly speed: number
  readonly directory: string
  /** A real directory, because a ledger writes synchronously. */
  readonly ledgers: string
}

interface MachineOptions {
  readonly random: Random
  readonly schedule: Schedule
  readonly fate: Fate
  readonly story: (line: string) => void
}

export class Machine {
  isDead = false
  steps = 0
  readonly run: string
  readonly place: Place
  readonly random: Random
  readonly schedule: Schedule
  readonly #fate: Fate
  readonly #story: (line: string) => void
  readonly #passed: string[] = []
  #pausedUntilMs = 0
  #suspendedFromMs = Number.POSITIVE_INFINITY
  onDeath: () => void = () => undefined

  constructor(run: string, place: Place, { random, schedule, fate, story }: MachineOptions) {
    this.run = run
    this.place = place
    this.random = random
    this.schedule = schedule
    this.#fate = fate
    this.#story = story
  }

  say(text: string): void {
    this.#story(`${(this.schedule.nowMs / 1_000).toFixed(1)} s  ${this.run}  ${text}`)
  }

  /** Counts a step. False: the process is dead, and nothing of it may continue. */
  step(name: string): boolean {
    if (this.isDead) return false
    this.steps += 1
    const { killAt, pause } = this.#fate
    this.#passed.push(name)
    if (this.#isAt(killAt)) {
      this.say(`KILLED at step ${this.steps}, ${name}`)
      this.isDead = true
      this.onDeath()
      return false
    }
    if (pause !== null && this.#isAt(pause.at)) {
      this.say(`${pause.isSuspended ? 'SUSPENDED' : 'PAUSED'} for ${pause.ms / 1_000} s at ${name}`)
      this.#pausedUntilMs = this.schedule.nowMs + pause.ms
      if (pause.isSuspended) this.#suspendedFromMs = this.schedule.nowMs
    }
    return true
  }

  /** Whether the step that was just counted is the one at `at`. */
  #isAt(at: At | null): boolean {
    if (at === null || this.#passed.at(-1)?.startsWith(at.name) !== true) return false
    return this.#passed.filter((name) => name.startsWith(at.name)).length === at.nth
  }

  /** Lets `happen` happen in this process: never if it is dead, later if it stands still. */
  after(ms: number, happen: () => void): () => void {
    return this.schedule.after(ms, () => this.#deliver(happen))
  }

  #deliver(happen: () => void): void {
    if (this.isDead) return
    const leftMs = this.#pausedUntilMs - this.schedule.nowMs
    if (leftMs > 0) {
      this.schedule.after(leftMs, () => this.#deliver(happen))
      return
    }
    this.schedule.current = this
    happen()
  }

  /** Continues later, if the process was just paused. */
  async settle(): Promise<void> {
    if (this.isDead) await never()
    if (this.#pausedUntilMs > this.schedule.nowMs)
      await new Promise<void>((resolve) => this.after(0, resolve))
  }

  readonly clock: Clock = {
    nowMs: () => Math.floor(START_MS + this.place.skewMs + this.schedule.nowMs * this.place.speed),
    monotonicMs: () => (this.schedule.nowMs - this.#suspendedMs()) * this.place.speed,
    after: (ms, act) =>
      this.after(Math.ceil(ms / this.place.speed), () => {
        if (this.step('wake up')) void this.settle().then(act)
      }),
  }

  #suspendedMs(): number {
    return Math.max(0, Math.min(this.schedule.nowMs, this.#pausedUntilMs) - this.#suspendedFromMs)
  }
}

const START_MS = Date.UTC(2026, 2, 1)

interface Event {
  readonly dueMs: number
  readonly place: number
  readonly happen: () => void
}

/**
 * Virtual time: the next event happens when the one before has nothing more to do. The modules under test use no timer of their own: they
 * get a `Clock`. So no global timer is replaced.
 */
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
