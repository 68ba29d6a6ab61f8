/** P3: in every file a survey's row, its sources and its progress come from one refresh. */
import { PROGRESS_COLUMNS } from '../../support/oracle/truth.js'
import type { JsonObject, World } from '../world.js'
import { columnsSql, progressText, type Queryable, textOf, type Violation } from './row-text.js'

/** P3: a survey's row is not newer than its sources and progress, and its progress is that of the answer at its refresh. */
export const torn = async (world: World, reader: Queryable, what: string): Promise<Violation[]> => {
  const rows =
    await reader.query(`SELECT s.id, s._synced_at > f.refreshed_at AND epoch_ms(s._synced_at) <= ${await world.nowMs()} AS newer,
      epoch_us(f.refreshed_at) // 1000 AS refreshed_ms, p.survey_id AS has_progress, ${columnsSql(PROGRESS_COLUMNS, 'p.')}
    FROM main.surveys s JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    LEFT JOIN main.survey_progress p ON p.account = s.account AND p.survey_id = s.id
    WHERE f.refreshed_at IS NOT NULL AND s._missing_since IS NULL`)
  return rows.flatMap((row): Violation[] => {
    if (row.newer === true)
      return [`P3: in the ${what} file the row of survey ${row.id} is newer than its sources and progress`]
    const answers = world.received.filter(
      ({ path, query, dateMs }) =>
        dateMs === Number(row.refreshed_ms) &&
        path.endsWith(`/surveys/${row.id}/fieldwork_progress`) &&
        !query.includes('sample_source_id'),
    )
    if (answers.some(({ isLie }) => isLie)) return []
    const stored = row.has_progress === null ? 'missing' : textOf(row, PROGRESS_COLUMNS)
    return answers.some(({ body }) => progressText(body.fieldwork_progress as JsonObject) === stored)
      ? []
      : [`P3: in the ${what} file the progress of survey ${row.id} differs from the answer at its refresh`]
  })
}
