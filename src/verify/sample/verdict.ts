/** The result of comparing one stored row with the service, with the fields that differ. */
import type { Cell, Column } from '../../model/columns.js'
import { formatInstant, type Instant } from '../../model/instant.js'
import type { CellRow } from '../../model/warehouse.js'
import type { StoredRow } from '../../warehouse/merge/merged-tables.js'

/**
 * `equal`: every field is equal. `moved`: the row differs, and has changed or may have changed since we read it. `waiting`: the row is
 * known to lag: queued, never read, or in quarantine. `unclear`: the API does not show enough to decide. `wrong`: no later change explains
 * the difference.
 */
export const VERDICTS = ['equal', 'moved', 'waiting', 'unclear', 'wrong'] as const
export type Verdict = (typeof VERDICTS)[number]

export interface Difference {
  readonly field: string
  /** The value in the warehouse; null also if there is no row. */
  readonly stored: Cell
  /** The value of the service. */
  readonly service: Cell
}

export interface Judgement {
  readonly verdict: Verdict
  /** One sentence; empty if all fields are equal. */
  readonly why: string
  readonly differences: readonly Difference[]
}

export interface Compared extends Judgement {
  readonly table: ComparedTable
  readonly surveyId: number
  readonly sampleSourceId: number | null
  /** Fields that were compared. */
  readonly fields: number
}

export const COMPARED_TABLES = [
  'surveys',
  'sample_sources',
  'survey_progress',
  'sample_source_progress',
] as const
type ComparedTable = (typeof COMPARED_TABLES)[number]

export const EQUAL: Judgement = Object.freeze({ verdict: 'equal', why: '', differences: [] })

export const CAME_BACK = 'marked as missing, and the API shows it: it came back, or never went'

export const judged = (
  verdict: Exclude<Verdict, 'equal'>,
  why: string,
  differences: readonly Difference[],
): Judgement => ({ verdict, why, differences })

export const comparedAs = (
  table: ComparedTable,
  fields: number,
  surveyId: number,
  sampleSourceId: number | null,
  judgement: Judgement,
): Compared => ({ table, surveyId, sampleSourceId, fields, ...judgement })

/** The differing fields of these columns. A missing stored row differs in every field that the service fills. */
export const differencesOf = (
  columns: readonly Column[],
  stored: CellRow | null,
  service: CellRow,
): readonly Difference[] =>
  columns.flatMap(({ name }) => {
    const [ours, theirs] = [stored?.[name] ?? null, service[name] ?? null]
    return ours === theirs ? [] : [{ field: name, stored: ours, service: theirs }]
  })

/** The column of unknown fields, which the service may add at any time without notice. */
export const EXTRA = '_extra'

// Judges the row of a survey or source: whether a change since our reading, by `updated_at`, explains a difference.

interface VersionQuestion {
  readonly columns: readonly Column[]
  /** Null if the warehouse has no such row. */
  readonly stored: Pick<StoredRow, 'cells' | 'missingSince'> | null
  readonly service: CellRow & { readonly updated_at: Instant }
  /** Changes before this moment are known to us, by the rules of the sync; null if nothing was read. */
  readonly knownUntil: Instant | null
  /** Why a difference is expected; null if it is not. */
  readonly waitsFor: string | null
}

export const judgeVersion = (question: VersionQuestion): Judgement => {
  const { columns, stored, service, knownUntil, waitsFor } = question
  const differences = differencesOf(columns, stored?.cells ?? null, service)
  const isMissing = stored !== null && stored.missingSince !== null
  if (differences.length === 0 && !isMissing) return EQUAL
  if (waitsFor !== null) return judged('waiting', waitsFor, differences)
  if (knownUntil === null) return judged('waiting', 'it was never read', differences)
  const known = formatInstant(knownUntil)
  const changed = `changed ${formatInstant(service.updated_at)}`
  if (service.updated_at >= knownUntil)
    return judged('moved', `${changed}; we know changes before ${known}`, differences)
  if (isMissing) return judged('unclear', CAME_BACK, differences)
  const lost = `the warehouse does not have it, although it was last ${changed}, before ${known}`
  if (stored === null) return judged('wrong', lost, differences)
  if (differences.every(({ field }) => field === EXTRA))
    return judged('unclear', 'the API may have added unknown fields since', differences)
  return judged('wrong', `last ${changed}, and we know every change before ${known}`, differences)
}
