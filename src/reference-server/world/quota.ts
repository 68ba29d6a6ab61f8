/**
 * Decides which interviews of a source are complete and which are above its target. Interviews are decided in the order
 * in which they end, each by the target at that moment. So there are never more complete ones than the target, unless
 * the target was lowered afterwards.
 */
import type { Micros } from '../time/iso-time.js'

/** A target of complete interviews from `at` on. */
interface Target {
  readonly at: Micros
  readonly sampleSize: number
}

export class Quota {
  readonly #targets: readonly Target[]
  readonly #decide: (place: number, hasRoom: boolean) => void
  /** The ends of the undecided interviews, ascending, from `#first` up to `#end`. */
  readonly #moments: Float64Array
  readonly #places: Uint32Array
  #first = 0
  #end = 0
  #target = 0
  #complete = 0

  /** `targets` are in the order of time. `decide` is called for each interview, in the order of time. */
  constructor(
    targets: readonly Target[],
    interviewsMax: number,
    decide: (place: number, hasRoom: boolean) => void,
  ) {
    this.#targets = targets
    this.#decide = decide
    this.#moments = new Float64Array(interviewsMax)
    this.#places = new Uint32Array(interviewsMax)
  }

  /** The interview at `place` completes at `moment`, if there is room then. */
  add(place: number, moment: Micros): void {
    let slot = this.#end++
    // An insertion sort is fast here: most interviews that began earlier also end earlier.
    for (; slot > this.#first && (this.#moments[slot - 1] ?? 0) > moment; slot--) {
      this.#moments[slot] = this.#moments[slot - 1] ?? 0
      this.#places[slot] = this.#places[slot - 1] ?? 0
    }
    this.#moments[slot] = moment
    this.#places[slot] = place
  }

  /** Decides all interviews that ended by `moment`, which never goes back. Returns how full the target is; 1 is full. */
  fillAt(moment: Micros): number {
    for (; this.#first < this.#end; this.#first++) {
      const ended = this.#moments[this.#first] ?? 0
      if (ended > moment) break
      const hasRoom = this.#complete < this.#targetAt(ended)
      if (hasRoom) this.#complete += 1
      this.#decide(this.#places[this.#first] ?? 0, hasRoom)
    }
    const target = this.#targetAt(moment)
    return this.#complete >= target ? 1 : this.#complete / target
  }

  #targetAt(moment: Micros): number {
    for (let next = this.#targets[this.#target + 1]; next !== undefined && next.at <= moment; ) {
      this.#target += 1
      next = this.#targets[this.#target + 1]
    }
    return this.#targets[this.#target]?.sampleSize ?? 0
  }
}
