/** What the comparison of one stored row with the service has shown. */
import type { Cell } from '../../model/columns.js'

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
export type ComparedTable = (typeof COMPARED_TABLES)[number]

export const EQUAL: Judgement = Object.freeze({ verdict: 'equal', why: '', differences: [] })

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
