/** What the comparison of one stored row with the service has shown, and the fields in which both differ. */
import type { Cell, Column } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'

/**
 * `equal`: every field. `moved`: it differs, and has changed since we read it, or may have. `waiting`: known to be behind: queued,
 * never read, or in quarantine. `unclear`: the API does not say enough to decide. `wrong`: no later change explains it.
 */
export const VERDICTS = ['equal', 'moved', 'waiting', 'unclear', 'wrong'] as const
export type Verdict = (typeof VERDICTS)[number]

export interface Difference {
  readonly field: string
  /** In the warehouse; null also if there is no row. */
  readonly stored: Cell
  /** What the service says. */
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

/** Unknown fields: the service may add some at any time, and says nothing about it. */
export const EXTRA = '_extra'
