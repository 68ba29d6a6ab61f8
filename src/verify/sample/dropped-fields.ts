/**
 * Fields that the API no longer has in any answer of the sample, as the API document announces for `incidence_rate`. Rows that were read
 * before still have them. This is a change of the API, which is reported once, and makes no row wrong.
 */
import type { Drift } from '../../model/survey-source.js'
import { type Compared, EXTRA, judged } from './verdict.js'

export type Resource = Drift['resource']

export interface DroppedField {
  readonly resource: Resource
  readonly field: string
  /** Rows of the sample that still have a value. */
  readonly rows: number
}

const RESOURCES: Readonly<Record<Compared['table'], Resource>> = {
  surveys: 'survey',
  sample_sources: 'sample_source',
  survey_progress: 'fieldwork_progress',
  sample_source_progress: 'fieldwork_progress',
}

export const createFieldWatch = () => {
  const shown = new Set<string>()
  const isDropped = (table: Compared['table'], { field, stored, service }: Compared['differences'][number]) =>
    stored !== null && service === null && !shown.has(`${RESOURCES[table]}.${field}`)
  return {
    /** Remembers the fields of a row of the API. */
    shows: (resource: Resource, row: object): void => {
      for (const [field, cell] of Object.entries(row)) if (cell !== null) shown.add(`${resource}.${field}`)
    },
    /** Call it at the end of the sample. Returns the rows, judged without the fields that no answer has. */
    judge: (rows: readonly Compared[]) => {
      const dropped = new Map<string, DroppedField>()
      for (const { table, differences } of rows)
        for (const difference of differences.filter((difference) => isDropped(table, difference))) {
          const [resource, { field }] = [RESOURCES[table], difference]
          const key = `${resource}.${field}`
          dropped.set(key, { resource, field, rows: 1 + (dropped.get(key)?.rows ?? 0) })
        }
      return {
        rows: rows.map((row) => without(row, (difference) => isDropped(row.table, difference))),
        droppedFields: [...dropped.values()],
      }
    },
  }
}

const without = (
  row: Compared,
  isOut: (difference: Compared['differences'][number]) => boolean,
): Compared => {
  const differences = row.differences.filter((difference) => !isOut(difference))
  if (differences.length === row.differences.length) return row
  if (differences.length === 0)
    return { ...row, ...judged('moved', 'the API no longer gives a field that it has', row.differences) }
  if (differences.every(({ field }) => field === EXTRA))
    return { ...row, ...judged('unclear', 'the API may have added unknown fields since', differences) }
  return { ...row, differences }
}
