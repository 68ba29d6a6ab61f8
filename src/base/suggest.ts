/** "Did you mean": finds the known key that is nearest to an unknown key. */

const DISTANCE_MAX = 3

/** The candidate with the fewest edits from `word`; null if no candidate is near enough to be a typing error. */
export const nearest = (word: string, candidates: readonly string[]): string | null => {
  const limit = Math.min(DISTANCE_MAX, Math.ceil(word.length / 3))
  const distanceTo = (candidate: string) => editDistance(word.toLowerCase(), candidate.toLowerCase())
  const near = candidates.filter((candidate) => distanceTo(candidate) <= limit)
  return near.toSorted((a, b) => distanceTo(a) - distanceTo(b))[0] ?? null
}

/** The number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
export const editDistance = (a: string, b: string): number => {
  const edits = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number) => edits[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    edits.push(current)
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1]
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current[column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (same ? 0 : 1),
        swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return at(a.length, b.length)
}
