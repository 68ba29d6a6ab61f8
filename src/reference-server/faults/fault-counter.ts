/**
 * Which faults act on which request: `match`, then `after`, `times` and `probability`, counted. Chance is drawn from
 * a stream for each fault and each of its matching requests, so the same requests meet the same faults, whatever
 * stands beside them in the list.
 */
import { PURPOSES, Random } from '../world/random.js'
import type { Fault } from './declaration.js'
import { matches, type ServedRequest } from './match.js'

/** A fault that acts on one request. */
export interface ActingFault {
  /** In the list, from 0. */
  readonly place: number
  readonly action: Fault['action']
  /** For what the action leaves to chance. */
  readonly random: Random
}

/** A fault as it was declared, with what has become of it. */
export interface CountedFault extends Fault {
  /** How many requests it matched, including those that `after`, `times` or chance left alone. */
  readonly matched: number
  readonly acted: number
}

export class FaultCounter {
  readonly #seed: number
  readonly #counted: readonly { readonly fault: Fault; matched: number; acted: number }[]
  #requests = 0

  constructor(faults: readonly Fault[], seed: number) {
    this.#seed = seed
    this.#counted = faults.map((fault) => ({ fault, matched: 0, acted: 0 }))
  }

  /** Counts `request`, and returns the faults that act on it, in the order of the list. */
  meet(request: ServedRequest): readonly ActingFault[] {
    this.#requests += 1
    return this.#counted.flatMap((counted, place) => {
      const { fault } = counted
      if (!matches(fault.match, request, this.#requests)) return []
      counted.matched += 1
      if (counted.matched <= fault.after) return []
      if (fault.times !== 'always' && counted.acted >= fault.times) return []
      const random = new Random({ seed: this.#seed, account: 0 }, counted.matched, PURPOSES.faults, place)
      if (!random.chance(fault.probability)) return []
      counted.acted += 1
      return [{ place, action: fault.action, random }]
    })
  }

  /** In the order of the list. */
  list(): readonly CountedFault[] {
    return this.#counted.map(({ fault, matched, acted }) => ({ ...fault, matched, acted }))
  }
}
