/**
 * Decides which faults act on which request, by `match`, then `after`, `times` and `probability`, and counts. Chance is
 * drawn from a stream for each fault and each of its matching requests, so the same requests meet the same faults,
 * whatever else is in the list.
 */
import { PURPOSES, Random } from '../world/random.js'
import type { Fault } from './declaration.js'
import { matches, type ServedRequest } from './match.js'

/** A fault that acts on one request. */
export interface ActingFault {
  /** Place in the list, from 0. */
  readonly place: number
  readonly action: Fault['action']
  /** For random parts of the action. */
  readonly random: Random
}

/** A fault as it was declared, completed by the defaults, with how often it matched and acted. */
export interface CountedFault extends Fault {
  /** Includes requests on which it did not act, because of `after`, `times` or chance. */
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
