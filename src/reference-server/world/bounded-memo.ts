/** Remembers a bounded number of derived values, so that requests for the same survey derive them once. */
export class BoundedMemo<Key, Value> {
  readonly #entriesMax: number
  readonly #entries = new Map<Key, Value>()

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax
  }

  /** The remembered value of `key` if it is still good, else a newly derived one. A full memo drops its oldest entry. */
  get(key: Key, derive: () => Value, isGood: (value: Value) => boolean = () => true): Value {
    const known = this.#entries.get(key)
    if (known !== undefined && isGood(known)) return known
    const value = derive()
    this.#entries.delete(key)
    this.#entries.set(key, value)
    const [oldest = key] = this.#entries.keys()
    if (this.#entries.size > this.#entriesMax) this.#entries.delete(oldest)
    return value
  }
}
