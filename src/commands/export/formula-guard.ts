/**
 * Keeps texts of a CSV file from becoming formulas and error values in a spreadsheet program. CSV cannot mark a text as a text, so an
 * apostrophe goes before each place where one of these could begin. See
 * docs/decisions/export-and-sql.md#0073-spreadsheets-hold-typed-cells-and-no-formulas.
 */
import { literal } from '../../warehouse/connection/ddl.js'

/** White space, invisible characters and apostrophes, without the separators. */
const SKIPPED = String.raw`[\pZ\p{Cf}\x00-\x08\x0b\x0c\x0e-\x1f\x7f']*`

/**
 * A formula begins with one of `= + - @`, and an error value with `#`, in every language; also in full width. It can begin a text, and
 * what follows a semicolon, tab or line break: a program with another separator than the comma divides a text there. Apostrophes are
 * skipped, so that taking one away at the same places gives the exact text again.
 */
const FORMULA_BEGINS = String.raw`(^|[;\t\r\n])(${SKIPPED}[=+\-@#＝＋－＠＃])`

/** SQL for the guarded text of `expression`. */
export const guardedText = (expression: string): string =>
  `regexp_replace(${expression}, ${literal(FORMULA_BEGINS)}, ${literal(String.raw`\1'\2`)}, 'g')`
