/**
 * A list that is too short is likelier than so many that have gone at once: a 404 marks none of them before another complete list agrees.
 */
export const areManyAtOnce = (vanished: number, known: number): boolean =>
  vanished > VANISHED_MAX && vanished >= known * VANISHED_PART_MAX

const VANISHED_MAX = 10
const VANISHED_PART_MAX = 1 / 5
