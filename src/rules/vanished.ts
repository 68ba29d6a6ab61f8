/**
 * If many are missing from a list at once, a list that is too short is likelier than so many deletions. Then none of them is marked as
 * missing before another complete list agrees.
 */
export const areManyAtOnce = (vanished: number, known: number): boolean =>
  vanished > VANISHED_MAX && vanished >= known * VANISHED_PART_MAX

const VANISHED_MAX = 10
const VANISHED_PART_MAX = 1 / 5
