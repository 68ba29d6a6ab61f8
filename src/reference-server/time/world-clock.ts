/**
 * The world's clock, which decides what the world shows. From its start it stays where it is (`frozen`), runs at the
 * speed of real time (`real`) or at a multiple of it (`600x`). It can also be moved by hand.
 */
import { MICROS_PER_DAY, MICROS_PER_MS, type Micros } from './iso-time.js'

/** The clock stops so long after its start. The world of later times would not fit in memory. */
const CLOCK_YEARS_MAX = 20

interface ClockSpeed {
  /** As it was given: `real`, `frozen`, `600x`. */
  readonly label: string
  /** World seconds per real second; 0 stops the clock. */
  readonly factor: number
}

export class WorldClock {
  readonly speed: ClockSpeed
  /** The clock's first and last possible moments. */
  readonly earliest: Micros = 0
  readonly latest: Micros
  readonly #monotonicMs: () => number
  #setTo: Micros
  #setAtMs: number

  /** `monotonicMs` is a clock that never goes back, in milliseconds. */
  constructor(startAt: Micros, speed: ClockSpeed, monotonicMs: () => number) {
    this.speed = speed
    this.latest = startAt + CLOCK_YEARS_MAX * 366 * MICROS_PER_DAY
    this.#monotonicMs = monotonicMs
    this.#setTo = startAt
    this.#setAtMs = monotonicMs()
  }

  now(): Micros {
    const elapsedMs = this.#monotonicMs() - this.#setAtMs
    return Math.min(this.latest, this.#setTo + Math.floor(elapsedMs * this.speed.factor * MICROS_PER_MS))
  }

  /** Moves the clock forward or back. Returns false and moves nothing when `at` is out of its range. */
  set(at: Micros): boolean {
    if (at < this.earliest || at > this.latest) return false
    this.#setTo = at
    this.#setAtMs = this.#monotonicMs()
    return true
  }
}
