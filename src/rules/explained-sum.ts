/**
 * Explains a survey's progress by the progress of its sources. The counts of a survey are the sums of those of its sources (API document,
 * "Fieldwork progress"). So once the changes of the sources that were read add up to the change of the survey, in every count, the other
 * sources have not moved (docs/decisions/bundles-and-refusals.md#0082-sources-are-read-until-they-explain-their-survey). Pure.
 */
import { INTERVIEW_STATUSES, type Progress } from '../model/fields.js'
import type { CellRow, StoredBundle } from '../model/warehouse.js'

const COUNTS = [
  'sample_size',
  'interviews_count',
  ...INTERVIEW_STATUSES.map((status) => `${status}_individuals` as const),
] as const

export class ExplainedSum {
  readonly #before: ReadonlyMap<number, CellRow>
  /** The change of each count of the survey that no source has explained so far; null if one is not known to the unit. */
  #left: readonly number[] | null
  /** Sources that are new, or that the list shows with another target. Two targets that move by opposite numbers leave the survey's as it was. */
  readonly #mustRead: Set<number>
  /** Another indicator of the survey has changed, such as a rate, and no source that was read has. */
  #isOtherLeft: boolean
  /** Its length of interview has changed, and no source that was read has another one, or other complete interviews. */
  #isLengthLeft: boolean

  /** `sources` are all sources of the survey as they are listed. One without stored progress is new. */
  constructor(
    { sourceProgress }: Pick<StoredBundle, 'sourceProgress'>,
    sources: readonly CellRow[],
    before: CellRow,
    now: Progress,
  ) {
    this.#before = new Map(sourceProgress.map((row) => [Number(row.sample_source_id), row]))
    this.#left = added(
      COUNTS.map(() => 0),
      before,
      now,
    )
    const hasListedTarget = ({ id, sample_size }: CellRow) =>
      this.#before.get(Number(id))?.sample_size === sample_size
    this.#mustRead = new Set(sources.filter((one) => !hasListedTarget(one)).map(({ id }) => Number(id)))
    this.#isOtherLeft = !isSame(before, now)
    this.#isLengthLeft = before.length_of_interview !== now.length_of_interview
    if (before._extra !== now._extra) this.#left = null
  }

  /** In the order in which they explain the most: those that must be read, then those whose stored progress comes first. */
  get ids(): readonly number[] {
    return [...new Set([...this.#mustRead, ...this.#before.keys()])]
  }

  mustReadSome(): boolean {
    return this.#mustRead.size > 0
  }

  /** Whether no further source can explain the rest. */
  isLost(): boolean {
    return this.#left === null
  }

  isExplained(): boolean {
    if (this.#left === null || this.#mustRead.size > 0 || this.#isOtherLeft || this.#isLengthLeft)
      return false
    return this.#left.every((count) => count === 0)
  }

  /** Takes the progress of a source that was read. Null, which could not be read or typed, explains nothing. */
  add(sampleSourceId: number, now: Progress | null): void {
    const before = this.#before.get(sampleSourceId) ?? NOTHING
    this.#mustRead.delete(sampleSourceId)
    if (now === null || this.#left === null) {
      this.#left = null
      return
    }
    this.#left = added(this.#left, now, before)
    // A new source without counts has moved no rate of the survey.
    const isEmpty = before === NOTHING && COUNTS.every((name) => now[name] === 0)
    if (!(isEmpty || isSame(before, now))) this.#isOtherLeft = false
    if (
      before.length_of_interview !== now.length_of_interview ||
      before.complete_individuals !== now.complete_individuals
    )
      this.#isLengthLeft = false
  }
}

/** The progress of a source before it was there. */
const NOTHING: CellRow = {
  ...Object.fromEntries(COUNTS.map((name) => [name, 0])),
  length_of_interview: null,
}

/** Whether every cell that was read is as it was before. */
export const isSame = (before: CellRow, now: object): boolean =>
  Object.entries(now).every(([name, cell]) => before[name] === cell)

/** `counts`, less the counts of `minus`, plus those of `plus`. */
const added = (counts: readonly number[], minus: CellRow, plus: CellRow): readonly number[] | null => {
  const sums = COUNTS.map((name, place) => {
    const terms = [counts[place], plus[name], minus[name]]
    return terms.every(Number.isSafeInteger)
      ? Number(terms[0]) + (Number(terms[1]) - Number(terms[2]))
      : Number.NaN
  })
  return sums.every(Number.isSafeInteger) ? sums : null
}
