/**
 * Chance that can be had again: a test that draws lots prints its seed where it fails, and CHAOS_SEED=<seed> makes it draw
 * the same. (When a process dies at a moment in real time, the lot is the same, the machine is not.)
 */
import { randomInt } from 'node:crypto'

export interface Chance {
  /** To be named in every assertion: how to replay. */
  readonly replay: string
  /** From 0 up to, not including, 1. */
  fraction(): number
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number
  oneOf<Value>(values: readonly Value[]): Value
}

export const chance = (seed = Number(process.env.CHAOS_SEED ?? randomInt(2 ** 31))): Chance => {
  let state = seed >>> 0
  // mulberry32.
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
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
