/**
 * Fields that the API gives no longer, in no answer of the sample: the API document announces that of `incidence_rate`. Rows that were
 * read before still have them. That is a change of the API, reported once, and no row is wrong for it.
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
    /** Takes a row of the API. */
    shows: (resource: Resource, row: object): void => {
      for (const [field, cell] of Object.entries(row)) if (cell !== null) shown.add(`${resource}.${field}`)
    },
    /** At the end of the sample: the rows, judged without the fields that no answer has. */
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
