/**
 * The world's clock: the only thing about the world that moves. It stands still (`frozen`), runs at the speed of
 * real time from the moment it starts at (`real`), or a number of times faster (`600x`), and can be moved by hand.
 */
import { MICROS_PER_DAY, MICROS_PER_MS, type Micros } from './iso-time.js'

/** How far past its start the clock goes; there it stands still. The world of later times would not fit in memory. */
const CLOCK_YEARS_MAX = 20

export interface ClockSpeed {
  /** As it was asked for: `real`, `frozen`, `600x`. */
  readonly label: string
  /** World seconds a real second; 0 stands still. */
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

  /** Moves the clock, forward or back; false, and nothing moved, when it does not go that far. */
  set(at: Micros): boolean {
    if (at < this.earliest || at > this.latest) return false
    this.#setTo = at
    this.#setAtMs = this.#monotonicMs()
    return true
  }
}
