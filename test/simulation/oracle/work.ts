/** P1 and P3 in every file, at every moment: it loses no change, and what it holds of a survey is from one refresh. */
import { parseIsoTime } from '../../../src/reference-server/time.js'
import { SURVEY } from '../../support/api/api-document.js'
import type { JsonObject } from '../../support/api/reference-api.js'
import { columnsSql, PROGRESS_COLUMNS } from '../../support/oracle/truth.js'
import type { Plan } from '../plan.js'
import type { World } from '../world.js'
import { checkReconstructed } from './reconstructed.js'
import { progressText, type Queryable, surveyText, textOf, type Violation } from './row-text.js'
import { checkSources } from './sources.js'

export const checkWork = async (
  world: World,
  reader: Queryable,
  given: { readonly account: string; readonly plan: Plan },
): Promise<Violation[]> => {
  const tables = await reader.query(
    `SELECT 1 AS found FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = '_sync' AND table_name = 'cursors'`,
  )
  if (tables.length === 0) return []
  return [
    ...(await lost(world, reader, given)),
    ...(await wronglyMissing(world, reader)),
    ...(await unqueued(world, reader)),
    ...(await torn(world, reader, 'work')),
    ...(await checkReconstructed(world, reader)),
    ...(await checkSources(world, reader, given)),
  ]
}

/** P1: every survey that was changed before the cursor is current in its table, or waits with a task, or is in quarantine. */
const lost = async (
  world: World,
  reader: Queryable,
  { account, plan }: { readonly account: string; readonly plan: Plan },
): Promise<Violation[]> => {
  const own = `WHERE account = '${account}'`
  const [cursor] = await reader.query(`SELECT epoch_us(updated_since) AS at FROM _sync.cursors ${own}`)
  // A cursor that a wrong clock put ahead of now has no meaning, because the next run lists everything.
  if (cursor === undefined || Number(cursor.at) > 1_000 * (await world.nowMs())) return []
  // What a list left out is listed when it is whole again.
  const [short] = await reader.query(`SELECT (SELECT bool_or(full_listing_due) FROM _sync.cursors ${own})
    OR EXISTS (SELECT 1 FROM main.freshness ${own} AND unlisted_since IS NOT NULL) AS owed`)
  if (plan.starts.some(({ shortList }) => shortList !== null) && short?.owed === true) return []
  const surveysIn = async (table: string) => {
    const rows = await reader.query(`SELECT ${columnsSql(SURVEY)} FROM ${table} ${own}`)
    return new Map(rows.map((row) => [Number(row.id), textOf(row, SURVEY)]))
  }
  const idsIn = async (table: string) => {
    const rows = await reader.query(`SELECT DISTINCT survey_id FROM ${table} ${own}`)
    return new Set(rows.map(({ survey_id }) => survey_id))
  }
  const byId = await surveysIn('main.surveys')
  const waiting = await surveysIn('_sync.pending_surveys')
  const tasks = await idsIn('_sync.tasks')
  const quarantined = await idsIn('_sync.rejected_rows')
  const lies = liesAbout(world)
  return (await world.surveys()).flatMap((survey): Violation[] => {
    const id = Number(survey.id)
    if ((parseIsoTime(String(survey.updated_at)) ?? 0) >= Number(cursor.at)) return []
    const truth = surveyText(survey)
    if (byId.get(id) === truth || (waiting.get(id) === truth && tasks.has(id))) return []
    if (quarantined.has(id) || quarantined.has(null)) return []
    if (lies.has(byId.get(id) ?? '') || lies.has(waiting.get(id) ?? '')) return []
    return [
      `P1: survey ${id} was changed at ${survey.updated_at}, before the cursor, but is ${byId.has(id) ? 'old' : 'missing'} in the warehouse`,
    ]
  })
}

const liesAbout = (world: World): ReadonlySet<string> =>
  new Set(
    world.received
      .filter(({ isLie, path }) => isLie && path.endsWith('/surveys'))
      .flatMap(({ body }) => ((body.surveys ?? []) as readonly JsonObject[]).map(surveyText)),
  )

/** P1: only surveys that the API no longer lists are marked as missing. A survey that has gone never returns in this world. */
const wronglyMissing = async (world: World, reader: Queryable): Promise<Violation[]> => {
  const listed = new Set((await world.surveys()).map(({ id }) => Number(id)))
  const marked = await reader.query('SELECT id FROM main.surveys WHERE _missing_since IS NOT NULL')
  return marked
    .filter(({ id }) => listed.has(Number(id)))
    .map(({ id }) => `P1: survey ${id} is marked as missing, but the API lists it`)
}

/** P1: every row that is newer than its sources and progress has a task, and so has every pending row. */
const unqueued = async (world: World, reader: Queryable): Promise<Violation[]> => {
  const rows = await reader.query(`SELECT s.id FROM main.surveys s
      LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
      WHERE s._missing_since IS NULL AND (f.refreshed_at IS NULL
          OR (f.refreshed_at < s._synced_at AND epoch_ms(s._synced_at) <= ${await world.nowMs()}))
        AND NOT EXISTS (SELECT 1 FROM _sync.tasks t WHERE t.account = s.account AND t.survey_id = s.id)
    UNION ALL SELECT p.id FROM _sync.pending_surveys p
      WHERE NOT EXISTS (SELECT 1 FROM _sync.tasks t WHERE t.account = p.account AND t.survey_id = p.id)`)
  return rows.map(({ id }) => `P1: survey ${id} waits for its sources and progress, but has no task`)
}

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
        !/sample_source_id|started_before/.test(query),
    )
    if (answers.some(({ isLie }) => isLie)) return []
    const stored = row.has_progress === null ? 'missing' : textOf(row, PROGRESS_COLUMNS)
    return answers.some(({ body }) => progressText(body.fieldwork_progress as JsonObject) === stored)
      ? []
      : [`P3: in the ${what} file the progress of survey ${row.id} differs from the answer at its refresh`]
  })
}
