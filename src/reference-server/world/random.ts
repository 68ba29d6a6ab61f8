/**
 * Randomness without state. Every fact of the world is drawn from its own stream, whose key names the fact. So facts can be derived in any
 * order, and one more draw for a fact changes no other fact. The generator is sfc32; the key fills its state.
 */

/** The purpose of a stream. A new purpose gets a new number; numbers are never reused. */
export const PURPOSES = {
  account: 1,
  creation: 2,
  timeline: 3,
  facts: 4,
  edits: 5,
  sources: 6,
  source: 7,
  statusMix: 8,
  interviews: 9,
  sourceEnd: 10,
  faults: 11,
  lateCorrections: 12,
  quality: 13,
} as const

type Purpose = (typeof PURPOSES)[keyof typeof PURPOSES]

/** The key of an account's world. */
export interface WorldKey {
  /** Whole number, 0 to 2^53 - 1. */
  readonly seed: number
  /** Index of the account, from 0; below 1,024. */
  readonly account: number
}

const WARM_UP_ROUNDS = 14

export class Random {
  #a: number
  #b: number
  #c: number
  #d: number

  /**
   * Opens the stream for one purpose of the survey with index `survey`. `detail` separates streams of the same survey and purpose: the
   * source's slot, the number of the edit.
   */
  constructor(key: WorldKey, survey: number, purpose: Purpose, detail = 0) {
    let a = key.seed | 0
    let b = Math.floor(key.seed / 0x1_0000_0000) | (key.account << 21)
    let c = survey | 0
    let d = (detail << 8) | purpose
    // The rounds of `#word` on local variables. A page of surveys opens 250 streams, and writing four private fields in
    // each round took a third of the time of the page.
    for (let round = 0; round < WARM_UP_ROUNDS; round++) {
      const sum = (((a + b) | 0) + d) | 0
      d = (d + 1) | 0
      a = b ^ (b >>> 9)
      b = (c + (c << 3)) | 0
      c = (((c << 21) | (c >>> 11)) + sum) | 0
    }
    this.#a = a
    this.#b = b
    this.#c = c
    this.#d = d
  }

  #word(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  fraction(): number {
    return this.#word() / 0x1_0000_0000
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.fraction()
  }

  below(count: number): number {
    return Math.floor(this.fraction() * count)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  /** An index of `weights`, drawn by weight; weights need not sum to 1. */
  weighted(weights: readonly number[]): number {
    let sum = 0
    for (const weight of weights) sum += weight
    let draw = this.fraction() * sum
    const last = weights.length - 1
    for (let index = 0; index < last; index++) {
      draw -= weights[index] ?? 0
      if (draw < 0) return index
    }
    return last
  }

  /** One of `choices`, all equally likely. There is at least one. */
  pick<Choice>(choices: readonly Choice[]): Choice {
    const choice = choices[this.below(choices.length)]
    if (choice === undefined) throw new Error('nothing to pick from')
    return choice
  }

  text(length: number, alphabet: string): string {
    let text = ''
    for (let index = 0; index < length; index++) text += alphabet.charAt(this.below(alphabet.length))
    return text
  }
}
