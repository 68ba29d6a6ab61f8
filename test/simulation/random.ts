/** Random numbers from a seed: the same seed gives the same story. */
export interface Random {
  /** From 0 up to 1. */
  unit(): number
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number
  chance(probability: number): boolean
  pick<Value>(values: readonly Value[]): Value
}

/** mulberry32: small, quick, and good enough to draw faults from. */
export const createRandom = (seed: number): Random => {
  let state = (seed ^ 0x9e3779b9) >>> 0
  const unit = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  for (let warmUp = 0; warmUp < 4; warmUp += 1) unit()
  const whole = (least: number, most: number) => least + Math.floor(unit() * (most - least + 1))
  return {
    unit,
    whole,
    chance: (probability) => unit() < probability,
    pick: (values) => {
      const value = values[whole(0, values.length - 1)]
      if (value === undefined) throw new Error('nothing to pick from')
      return value
    },
  }
}
