/** Counts of compared rows and fields, by verdict. */
import { type Compared, VERDICTS, type Verdict } from '../../verify/sample/verdict.js'

export interface RowVerdicts extends Readonly<Record<Verdict, number>> {
  readonly rows: number
  readonly fields: number
}

export const countsOf = (rows: readonly Compared[]): RowVerdicts => {
  const count = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict).length
  return {
    rows: rows.length,
    fields: rows.reduce((sum, { fields }) => sum + fields, 0),
    equal: count('equal'),
    moved: count('moved'),
    waiting: count('waiting'),
    unclear: count('unclear'),
    wrong: count('wrong'),
  }
}

export const COUNTED = ['rows', 'fields', ...VERDICTS] as const
