/**
 * The surveys of an account that a fault has made vanish. The world derives a listing's page from places alone, and
 * a vanished survey pulls all older ones up by one; here is that arithmetic. It costs the number of vanished
 * surveys, not that of the listing, and nothing while none is.
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

  /** How many of the first `existing` surveys are left. */
  left(existing: number): number {
    return existing - [...this.#places].filter((place) => place < existing).length
  }

  /** `places` without the forgotten ones; itself while there is none. */
  without(places: readonly number[]): readonly number[] {
    return this.#places.size === 0 ? places : places.filter((place) => !this.has(place))
  }

  /** Of the first `existing` surveys, those that are left, newest first: at most `count` of them, from `first` on. */
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
