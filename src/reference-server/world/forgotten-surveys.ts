/**
 * The surveys of an account that a fault has made vanish. The world derives a page of the list from places only, and a
 * vanished survey moves all older ones up by one place. This class does that arithmetic. Its cost grows with the vanished
 * surveys, not with the list.
 */

export class ForgottenSurveys {
  /** Places, the newest (largest) first. */
  #places: ReadonlySet<number> = new Set()

  add(place: number): void {
    if (!this.has(place)) this.#places = new Set([...this.#places, place].sort((one, other) => other - one))
  }

  clear(): void {
    this.#places = new Set()
  }

  has(place: number): boolean {
    return this.#places.has(place)
  }

  /** How many of the first `existing` surveys remain. */
  left(existing: number): number {
    return existing - [...this.#places].filter((place) => place < existing).length
  }

  /** `places` without the forgotten ones. */
  without(places: readonly number[]): readonly number[] {
    return this.#places.size === 0 ? places : places.filter((place) => !this.has(place))
  }

  /** What remains of the first `existing` surveys, newest first: at most `count` of them, from `first` on. */
  newest(existing: number, first: number, count: number): number[] {
    const length = Math.max(0, Math.min(count, this.left(existing) - first))
    let place = existing - 1 - first
    for (const forgotten of this.#places) {
      if (forgotten < existing && forgotten >= place) place -= 1
    }
    return Array.from({ length }, () => {
      while (this.has(place)) place -= 1
      place -= 1
      return place + 1
    })
  }
}
