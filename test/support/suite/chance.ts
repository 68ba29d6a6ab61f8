/**
 * Random choices that can be replayed. A failed test prints its seed, and CHAOS_SEED=<seed> repeats its choices.
 * Where a process dies at a moment of real time, the choice is repeated exactly, but its effect may differ.
 */
import { randomInt } from 'node:crypto'

export interface Chance {
  /** How to replay. Every assertion's message includes it. */
  readonly replay: string
  /** A number from 0 up to 1, without 1. */
  fraction(): number
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number
  oneOf<Value>(values: readonly Value[]): Value
}

/** Small, quick, and good enough to draw faults from. */
export const mulberry32 = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const chance = (seed = Number(process.env.CHAOS_SEED ?? randomInt(2 ** 31))): Chance => {
  const fraction = mulberry32(seed)
  const below = (limit: number) => Math.floor(fraction() * limit)
  return {
    replay: `replay with CHAOS_SEED=${seed}`,
    fraction,
    below,
    oneOf: (values) => {
      const value = values[below(values.length)]
      if (value === undefined) throw new Error('nothing to choose from')
      return value
    },
  }
}
