/** Random numbers from a seed: the same seed gives the same story. */
import { mulberry32 } from '../support/suite/chance.js'

export interface Random {
  /** From 0 up to 1. */
  unit(): number
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number
  chance(probability: number): boolean
  pick<Value>(values: readonly Value[]): Value
}

export const createRandom = (seed: number): Random => {
  const unit = mulberry32(seed ^ 0x9e3779b9)
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

/** The nth step of some name. `steps` are names with approximate numbers of steps per start, such as `rename 2, rm 3`. */
export const drawNth = ({ pick, whole }: Random, steps: string) => {
  const [, operation = '', most] = /^(.+) (\d+)$/.exec(pick(steps.split(', '))) ?? []
  return { operation, nth: whole(1, Number(most)) }
}

/** One of `kinds`, each with its probability; null for none. */
export const drawFault = <Kind extends string>(
  { unit }: Random,
  kinds: readonly Kind[],
  probabilities: Partial<Readonly<Record<Kind, number>>>,
): Kind | null => {
  let left = unit()
  for (const kind of kinds) {
    left -= probabilities[kind] ?? 0
    if (left < 0) return kind
  }
  return null
}
