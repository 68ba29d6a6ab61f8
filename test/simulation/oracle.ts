/** What must hold after every start, and at the end: the promises, checked against what the server knows and told. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseIsoTime } from '../../src/reference-server/time/iso-time.js'
import { FIELDWORK_PROGRESS, SAMPLE_SOURCE, SURVEY } from '../contract/api-document.js'
import { openReader, type Reader, type Row } from '../support/duckdb.js'
import { unsoundness } from '../support/soundness.js'
import { fieldsOf, PROGRESS_COLUMNS, progressOf, rowsOfSurvey, warehouseRows } from '../support/truth.js'
import type { Plan } from './plan.js'
import type { Ended } from './process.js'
import type { JsonObject, Told, World } from './world.js'

/** A promise that was broken, as one line. */
export type Broken = string

const one = (value: unknown): string =>
  JSON.stringify(value, (_key, cell) => (cell === undefined ? null : cell))
const surveyText = (row: JsonObject): string => one(fieldsOf(row, SURVEY))
const sourceText = (row: JsonObject): string => one(fieldsOf(row, SAMPLE_SOURCE))
const progressText = (row: JsonObject): string => {
  try {
    const columns = progressOf({ ...blankProgress, ...row })
    return one(Object.fromEntries(Object.keys(PROGRESS_COLUMNS).map((name) => [name, columns[name] ?? null])))
  } catch {
    return 'untypable'
  }
}
const blankProgress = Object.fromEntries(Object.keys(FIELDWORK_PROGRESS).map((name) => [name, null]))

const columnsSql = (fields: Readonly<Record<string, { readonly type: string }>>, table = ''): string =>
  Object.entries(fields)
    .map(([name, { type }]) =>
      type === 'timestamp' ? `epoch_us(${table}"${name}") AS "${name}"` : `${table}"${name}"`,
    )
    .join(', ')

const textOf = (row: Row, fields: object): string =>
  one(Object.fromEntries(Object.keys(fields).map((name) => [name, row[name] ?? null])))

/** P2: at most so many requests in any window, by the server's own log. */
export const overCap = async (world: World, { world: { rate } }: Plan): Promise<Broken[]> => {
  const times = (await world.arrivals()).map(({ at_ms }) => at_ms)
  for (const [place, at] of times.entries()) {
    const later = times[place + rate.requests]
    if (later !== undefined && later - at < rate.perMs)
      return [
        `P2: ${rate.requests + 1} requests reached the server within ${(later - at).toFixed(1)} ms, the cap is ${rate.requests} in ${rate.perMs}`,
      ]
  }
  return []
}

/** What must hold of the work database, whenever it is looked at. */
export const checkWork = async (world: World, directory: string): Promise<Broken[]> => {
  const file = join(directory, 'work.duckdb')
  if (!existsSync(file)) return []
  using reader = await openReader(file)
  if (!(await hasTables(reader))) return []
  return [...(await lost(world, reader)), ...(await unqueued(reader)), ...(await torn(world, reader, 'work'))]
}

const hasTables = async (reader: Reader): Promise<boolean> =>
  (
    await reader.query(
      `SELECT 1 AS found FROM duckdb_tables() WHERE schema_name = '_sync' AND table_name = 'cursors'`,
    )
  ).length > 0

/** P1: every survey that was changed before the cursor is in its table as it is, or waits, or is in quarantine. */
const lost = async (world: World, reader: Reader): Promise<Broken[]> => {
  const [cursor] = await reader.query('SELECT epoch_us(updated_since) AS at FROM _sync.cursors')
  if (cursor === undefined) return []
  const rows = await reader.query(`SELECT ${columnsSql(SURVEY)} FROM main.surveys`)
  const byId = new Map(rows.map((row) => [Number(row.id), textOf(row, SURVEY)]))
  const waiting = new Map(
    (await reader.query(`SELECT ${columnsSql(SURVEY)} FROM _sync.pending_surveys`)).map((row) => [
      Number(row.id),
      textOf(row, SURVEY),
    ]),
  )
  const tasks = new Set((await reader.query('SELECT survey_id FROM _sync.tasks')).map((row) => row.survey_id))
  const quarantined = (await reader.query('SELECT DISTINCT survey_id FROM _sync.rejected_rows')).map(
    ({ survey_id }) => survey_id,
  )
  const lies = liesAbout(world)
  return ((await world.truth()).surveys as readonly JsonObject[]).flatMap((survey): Broken[] => {
    const id = Number(survey.id)
    if ((parseIsoTime(String(survey.updated_at)) ?? 0) >= Number(cursor.at)) return []
    const truth = surveyText(survey)
    if (byId.get(id) === truth || (waiting.get(id) === truth && tasks.has(id))) return []
    if (quarantined.includes(id) || quarantined.includes(null)) return []
    if (lies.has(byId.get(id) ?? '') || lies.has(waiting.get(id) ?? '')) return []
    return [
      `P1: survey ${id} was changed at ${survey.updated_at}, before the cursor, and is ${byId.has(id) ? 'old' : 'missing'} in the warehouse`,
    ]
  })
}

const liesAbout = (world: World): ReadonlySet<string> =>
  new Set(
    world.told
      .filter(({ isLie, path }) => isLie && path.endsWith('/surveys'))
      .flatMap(({ body }) => ((body.surveys ?? []) as readonly JsonObject[]).map(surveyText)),
  )

/** A row that is newer than its sources and progress has a task; so has one that waits. */
const unqueued = async (reader: Reader): Promise<Broken[]> => {
  const rows = await reader.query(`SELECT s.id FROM main.surveys s
      LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
      WHERE s._missing_since IS NULL AND (f.refreshed_at IS NULL OR f.refreshed_at < s._synced_at)
        AND s.id NOT IN (SELECT survey_id FROM _sync.tasks)
    UNION ALL SELECT p.id FROM _sync.pending_surveys p WHERE p.id NOT IN (SELECT survey_id FROM _sync.tasks)`)
  return rows.map(({ id }) => `P1: survey ${id} waits for its sources and progress and has no task`)
}

/** P3: a survey's row is not newer than what was read with it, and its progress is what was told then. */
const torn = async (world: World, reader: Reader, what: string): Promise<Broken[]> => {
  const rows = await reader.query(`SELECT s.id, s._synced_at > f.refreshed_at AS newer,
      epoch_us(f.refreshed_at) // 1000 AS refreshed_ms, p.survey_id AS has_progress, ${columnsSql(PROGRESS_COLUMNS, 'p.')}
    FROM main.surveys s JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    LEFT JOIN main.survey_progress p ON p.account = s.account AND p.survey_id = s.id
    WHERE f.refreshed_at IS NOT NULL AND s._missing_since IS NULL`)
  return rows.flatMap((row): Broken[] => {
    if (row.newer === true)
      return [`P3: in the ${what} file the row of survey ${row.id} is newer than its sources and progress`]
    const told = world.told.filter(
      ({ path, query, dateMs }) =>
        dateMs === Number(row.refreshed_ms) &&
        path.endsWith(`/surveys/${row.id}/fieldwork_progress`) &&
        !query.includes('sample_source_id'),
    )
    if (told.some(({ isLie }) => isLie)) return []
    const stored = row.has_progress === null ? 'missing' : textOf(row, PROGRESS_COLUMNS)
    return told.some(({ body }) => progressText(body.fieldwork_progress as JsonObject) === stored)
      ? []
      : [
          `P3: in the ${what} file the progress of survey ${row.id} is not what was told when it was refreshed`,
        ]
  })
}

/** P3: what readers open, at any moment at which the process may be killed. */
export const checkPublished = async (
  world: World,
  directory: string,
  isWhole: boolean,
  isLast: boolean,
): Promise<Broken[]> => {
  const file = join(directory, 'fieldwork.duckdb')
  if (!existsSync(file)) return []
  try {
    // Histories only grow: what is unsound stays so, and one look at the end finds it.
    const unsound = isLast ? await unsoundness(file) : []
    using reader = await openReader(file)
    const found = [
      ...unsound.map((line) => `P3: the published file is unsound: ${line}`),
      ...(await torn(world, reader, 'published')),
    ]
    if (existsSync(`${file}.wal`)) found.push('P3: a .wal is left beside the published file')
    if (isWhole) found.push(...(await differences(reader, join(directory, 'work.duckdb'))))
    return found
  } catch (error) {
    return [
      `P3: the published file cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    ]
  }
}

const COMPARED = [
  'main.surveys',
  'main.sample_sources',
  'main.survey_progress',
  'main.freshness',
  '_sync.runs',
  '_sync.tasks',
]

const differences = async (reader: Reader, work: string): Promise<Broken[]> => {
  await reader.query(`ATTACH '${work}' AS work_file (READ_ONLY)`)
  const found: Broken[] = []
  for (const table of COMPARED) {
    const rows = await reader.query(
      `SELECT count(*) AS n FROM ((FROM ${table} EXCEPT FROM work_file.${table}) UNION ALL (FROM work_file.${table} EXCEPT FROM ${table}))`,
    )
    if (rows[0]?.n !== 0) found.push(`P3: ${table} of the published file is not what was committed`)
  }
  await reader.query('DETACH work_file')
  return found
}

/** P4: exit code, report and the record of the run agree, and tell the truth. */
export const checkEnd = async (world: World, ended: Ended, toldBefore: number): Promise<Broken[]> => {
  const { exitCode, report, problem, directory } = ended
  if (exitCode === null) return []
  if (exitCode === 1) return [`P4: exit 1, a bug: ${problem}`]
  const found: Broken[] = []
  if (report === null) {
    if (exitCode === 0) found.push('P4: exit 0 without a report')
    return found
  }
  const file = join(directory, 'work.duckdb')
  using reader = await openReader(file)
  const [last] = await reader.query(
    'SELECT status, exit_code, reason, left_over, rejected_rows FROM _sync.runs ORDER BY started_at DESC, run_id DESC LIMIT 1',
  )
  const own = report.accounts[0]
  const [record] = await reader.query(
    `SELECT status, exit_code, reason, left_over, rejected_rows FROM _sync.runs WHERE run_id = '${own?.runId}'`,
  )
  const [tasks] = await reader.query('SELECT count(*) AS n FROM _sync.tasks')
  if (record === undefined) found.push('P4: the run is not in _sync.runs')
  // A full disk may keep the record of its own failure away.
  else if (record.exit_code !== exitCode && !(exitCode === 7 && ended.generation.failed.length > 0))
    found.push(`P4: exit ${exitCode}, but _sync.runs says ${record.exit_code} (${record.reason})`)
  if (exitCode === 0) found.push(...(await untrueSuccess(world, ended, reader, Number(tasks?.n), toldBefore)))
  else if (own !== undefined && own.reason === null) found.push(`P4: exit ${exitCode} without a reason`)
  const statuses: Record<number, string> = { 0: 'complete', 3: 'partial' }
  if (own !== undefined && own.status !== (statuses[exitCode] ?? 'failed'))
    found.push(`P4: exit ${exitCode} is reported as ${own.status}`)
  if (last === undefined) found.push('P4: no run is recorded')
  return found
}

const untrueSuccess = async (
  world: World,
  ended: Ended,
  reader: Reader,
  tasks: number,
  toldBefore: number,
): Promise<Broken[]> => {
  const found: Broken[] = []
  if (tasks > 0) found.push(`P4: exit 0, and ${tasks} surveys are left in the queue`)
  if (ended.network.untypable > 0) found.push('P4: exit 0, and a row that cannot be typed was received')
  if (ended.report?.publishError !== null || ended.report.published.length === 0)
    found.push('P4: exit 0, and nothing was published')
  const told = world.told.slice(toldBefore)
  const listed = told.filter(({ path, query }) => path.endsWith('/surveys') && /(^|&)page=1(&|$)/.test(query))
  const first = told.find(({ path }) => path.endsWith('/surveys'))
  if (listed.length === 0 && first === undefined) found.push('P4: exit 0, and nothing was listed')
  const [failed] = await reader.query('SELECT count(*) AS n FROM main.freshness WHERE last_error IS NOT NULL')
  if (Number(failed?.n) > 0) found.push('P4: exit 0, and a survey could not be refreshed')
  return found
}

/** After the last clean start: the warehouse is the server's truth, and history is what was told. */
export const checkFinal = async (world: World, ended: Ended): Promise<Broken[]> => {
  if (ended.exitCode !== 0)
    return [
      `a clean start ended with exit ${ended.exitCode}: ${ended.problem ?? ended.report?.accounts[0]?.reason}`,
    ]
  const file = join(ended.directory, 'fieldwork.duckdb')
  const account = world.account.name
  const stored = await warehouseRows(file)
  const truth = new Map(
    ((await world.truth()).surveys as readonly JsonObject[]).map((survey) => [
      `${account}/${survey.id}`,
      { id: Number(survey.id), rows: rowsOfSurvey(survey), idle: IDLE.has(String(survey.status)) },
    ]),
  )
  const found: Broken[] = []
  for (const [key, { id, rows, idle }] of truth) {
    const mine = stored.get(key)
    if (mine === undefined) found.push(`oracle: survey ${id} is not in the warehouse`)
    else if (one(mine.survey) !== one(rows.survey))
      found.push(`oracle: the row of survey ${id} is ${one(mine.survey)}, not ${one(rows.survey)}`)
    else if (!idle || !wasLiedAbout(world, id)) found.push(...differencesOf(id, mine, rows, idle))
  }
  for (const key of stored.keys())
    if (!truth.has(key)) found.push(`oracle: survey ${key} has gone, and is not marked as missing`)
  return [...found, ...(await untrueHistory(world, file))]
}

const IDLE: ReadonlySet<string> = new Set(['draft', 'user_demo'])

const differencesOf = (
  id: number,
  mine: ReturnType<typeof rowsOfSurvey>,
  truth: ReturnType<typeof rowsOfSurvey>,
  idle: boolean,
): Broken[] =>
  (['sources', 'progress', 'sourceProgress'] as const)
    .filter((part) => !idle && one(mine[part]) !== one(truth[part]))
    .map((part) => `oracle: ${part} of survey ${id}: ${one(mine[part])}, not ${one(truth[part])}`)

const wasLiedAbout = (world: World, id: number): boolean =>
  world.told.some(({ isLie, path }) => isLie && path.includes(`/surveys/${id}/`))

/** Every version in history is one that the API told, no earlier than it says. */
const untrueHistory = async (world: World, file: string): Promise<Broken[]> => {
  using reader = await openReader(file)
  const found: Broken[] = []
  for (const { table, key, fields, at, told } of HISTORIES) {
    const earliest = new Map<string, number>()
    for (const answer of world.told) {
      for (const text of told(answer))
        earliest.set(text, Math.min(earliest.get(text) ?? answer.dateMs, answer.dateMs))
    }
    const rows = await reader.query(
      `SELECT ${columnsSql(fields)}, epoch_us("${at}") // 1000 AS from_ms, ${key} AS history_key FROM main.${table}`,
    )
    for (const row of rows) {
      const since = earliest.get(`${row.history_key} ${textOf(row, fields)}`)
      if (since === undefined)
        found.push(`history: ${table} has a version of ${row.history_key} that the API never told`)
      else if (since > Number(row.from_ms))
        found.push(`history: ${table} has a version of ${row.history_key} dated before it was told`)
    }
  }
  return found
}

const surveyIdIn = (path: string): string => /\/surveys\/(\d+)\//.exec(path)?.[1] ?? ''

const HISTORIES = [
  {
    table: 'surveys_history',
    key: 'id::VARCHAR',
    fields: SURVEY,
    at: 'valid_from',
    told: ({ path, body }: Told) =>
      path.endsWith('/surveys')
        ? (body.surveys as readonly JsonObject[]).map((row) => `${row.id} ${surveyText(row)}`)
        : [],
  },
  {
    table: 'sample_sources_history',
    key: `survey_id || '/' || id`,
    fields: SAMPLE_SOURCE,
    at: 'valid_from',
    told: ({ path, body }: Told) =>
      path.endsWith('/sample_sources')
        ? (body.sample_sources as readonly JsonObject[]).map(
            (row) => `${surveyIdIn(path)}/${row.id} ${sourceText(row)}`,
          )
        : [],
  },
  {
    table: 'survey_progress_history',
    key: 'survey_id::VARCHAR',
    fields: PROGRESS_COLUMNS,
    at: 'observed_at',
    told: ({ path, query, body }: Told) =>
      path.endsWith('/fieldwork_progress') && !query.includes('sample_source_id')
        ? [`${surveyIdIn(path)} ${progressText(body.fieldwork_progress as JsonObject)}`]
        : [],
  },
  {
    table: 'sample_source_progress_history',
    key: `survey_id || '/' || sample_source_id`,
    fields: PROGRESS_COLUMNS,
    at: 'observed_at',
    told: ({ path, query, body }: Told) => {
      const source = /sample_source_id=(\d+)/.exec(query)?.[1]
      return source === undefined
        ? []
        : [`${surveyIdIn(path)}/${source} ${progressText(body.fieldwork_progress as JsonObject)}`]
    },
  },
]
