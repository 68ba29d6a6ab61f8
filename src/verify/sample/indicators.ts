/**
 * What the API document says about the fields of one progress answer: totals and formulas ("Fieldwork progress"). A service may round,
 * or count in its own way. So a formula is used against a stored row only if the service keeps it in its answer of now. Pure.
 */
import { INTERVIEW_STATUSES, type InterviewStatus, type Progress } from '../../model/fields.js'
import type { CellRow } from '../../model/warehouse.js'
import { type Difference, EXTRA } from './verdict.js'

const numberOf = (row: CellRow, field: string): number | null => {
  const cell = row[field]
  return typeof cell === 'number' ? cell : null
}

const individuals = (row: CellRow, status: InterviewStatus): number | null =>
  numberOf(row, `${status}_individuals`)

/** The interviews of all statuses, also of those that are only in `_extra`; null if the service leaves a count out. */
export const totalOf = (row: CellRow): number | null => {
  let total = unknownStatuses(row[EXTRA])
  for (const status of INTERVIEW_STATUSES) {
    const count = individuals(row, status)
    if (count === null || total === null) return null
    total += count
  }
  return total
}

const unknownStatuses = (extra: CellRow[string] | undefined): number | null => {
  if (typeof extra !== 'string') return 0
  const statuses = membersOf(membersOf(JSON.parse(extra)).interview_count_by_status)
  let total = 0
  for (const entry of Object.values(statuses)) {
    const { individuals: count } = membersOf(entry)
    if (typeof count !== 'number') return null
    total += count
  }
  return total
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {})
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const COUNTS: readonly string[] = INTERVIEW_STATUSES.map((status) => `${status}_individuals`)

export const haveSameCounts = (one: CellRow, other: CellRow): boolean =>
  COUNTS.every((name) => one[name] === other[name]) && one[EXTRA] === other[EXTRA]

interface Formula {
  readonly field: keyof Progress
  /** Null where the counts do not give it. */
  readonly of: (row: CellRow) => number | null
  readonly tolerance: number
}

const sumOf = (row: CellRow, statuses: readonly InterviewStatus[]): number | null => {
  let sum = 0
  for (const status of statuses) {
    const count = individuals(row, status)
    if (count === null) return null
    sum += count
  }
  return sum
}

/** Null for a division by zero: the API document does not define it. */
const ratio = (part: number | null, whole: number | null): number | null =>
  part === null || whole === null || whole === 0 ? null : part / whole

/** A service that rounds to two digits keeps them. */
const RATE_TOLERANCE = 0.006
const PERCENTAGE_TOLERANCE = 0.6

const complete = (row: CellRow) => individuals(row, 'complete')
const targetIncidence = (row: CellRow) => ratio(complete(row), sumOf(row, ['complete', 'screen_out']))

const FORMULAS: readonly Formula[] = [
  { field: 'interviews_count', of: complete, tolerance: 0 },
  {
    field: 'completion_rate',
    of: (row) => ratio(complete(row), numberOf(row, 'sample_size')),
    tolerance: RATE_TOLERANCE,
  },
  {
    field: 'questionnaire_incidence_rate',
    of: (row) => ratio(complete(row), sumOf(row, ['complete', 'screen_out', 'quota_full', 'incomplete'])),
    tolerance: RATE_TOLERANCE,
  },
  { field: 'target_incidence_rate', of: targetIncidence, tolerance: RATE_TOLERANCE },
  { field: 'incidence_rate', of: targetIncidence, tolerance: RATE_TOLERANCE },
  {
    field: 'drop_out_rate',
    of: (row) => ratio(individuals(row, 'incomplete'), totalOf(row)),
    tolerance: RATE_TOLERANCE,
  },
  ...INTERVIEW_STATUSES.map(
    (status): Formula => ({
      field: `${status}_percentage`,
      of: (row) => {
        const fraction = ratio(individuals(row, status), totalOf(row))
        return fraction === null ? null : 100 * fraction
      },
      tolerance: PERCENTAGE_TOLERANCE,
    }),
  ),
]

/** The fields of the stored row that contradict its own counts, although the service keeps the same formula now. */
export const brokenFormulas = (stored: CellRow, service: CellRow): readonly Difference[] =>
  FORMULAS.flatMap((formula) => {
    if (keeps(service, formula) !== true || keeps(stored, formula) !== false) return []
    return [{ field: formula.field, stored: numberOf(stored, formula.field), service: formula.of(stored) }]
  })

/** Null if the row does not say. */
const keeps = (row: CellRow, { field, of, tolerance }: Formula): boolean | null => {
  const [given, expected] = [numberOf(row, field), of(row)]
  return given === null || expected === null ? null : Math.abs(given - expected) <= tolerance
}
