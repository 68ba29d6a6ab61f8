/**
 * `npm run bench -- floor`: two syncs beside bare programs of Node, undici and DuckDB, without cursor, queue, limiter, checks, comparison,
 * records or log. What these take is the floor of any program that keeps the same tables. Each figure is the lowest of three runs.
 *
 * - `list` reads all pages, and appends each survey to the five tables that a first listing fills.
 * - `night` opens the work database, sends the requests of a night with nothing to do, changes a row, and publishes a copy.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api'
import { request } from 'undici'
import { systemClock } from '../../dist/base/clock.js'
import { openDatabase } from '../../dist/warehouse/connection/database.js'
import { migrate } from '../../dist/warehouse/lifecycle/migrations.js'
import { inDirectory, inWorld, refuseSurveys, table, timed } from './support.mjs'

const RUNS = 3
const FILLED = [
  ['surveys', 'main'],
  ['surveys_history', 'main'],
  ['freshness', 'main'],
  ['tasks', '_sync'],
  ['listed_ids', '_sync'],
]
/** As many as one of our commits has. */
const ROWS_AT_ONCE = 5_000

const [first = '100000', ...rest] = process.argv.slice(2)
const PROGRAMS = { list, night }
await (PROGRAMS[first]?.(...rest) ?? compare(Number(first)))

async function compare(surveys) {
  const self = fileURLToPath(new URL(import.meta.url))
  const row = table('lowest of three runs                  |CPU s:2|peak MB:0')
  const print = async (what, run) => {
    const runs = []
    while (runs.length < RUNS) runs.push(await run())
    row(what, Math.min(...runs.map(({ cpu }) => cpu)), Math.min(...runs.map(({ peak }) => peak)))
  }
  const listed = (work) =>
    inWorld(surveys, async (given) => {
      await refuseSurveys(given.world)
      return await work(given)
    })
  await print(`${surveys} surveys listed`, () => listed(({ sync }) => sync({ mayFail: true })))
  await print('  bare', () =>
    listed(({ env }) =>
      inDirectory(async (directory) => {
        const file = join(directory, 'w.duckdb')
        await createTables(file)
        return await timed([self, 'list', file], env)
      }),
    ),
  )
  await inWorld(Math.min(500, surveys), async ({ world, env, sync }) => {
    await sync()
    await world.control('DELETE', 'requests')
    await print('a night with nothing to do', sync)
    const { requests } = await world.control('GET', 'requests')
    const sent = requests.slice(0, requests.length / RUNS).map(({ path, query }) => `${path}?${query}`)
    await print('  bare', () => timed([self, 'night', env.FIELDWORK_SYNC_WAREHOUSE, ...sent], env))
  })
}

async function createTables(file) {
  const database = await openDatabase(file)
  await migrate(database, systemClock)
  await database.close()
}

async function list(file) {
  const { connection, close } = await open(file)
  const tables = []
  for (const [name, schema] of FILLED) {
    const columns = await connection.runAndReadAll(`FROM pragma_table_info('${schema}.${name}')`)
    tables.push({ name, schema, columns: columns.getRowObjects() })
  }
  let surveys = []
  const append = async () => {
    await connection.run('BEGIN')
    for (const { name, schema, columns } of tables) {
      const appender = await connection.createAppender(name, schema)
      for (const survey of surveys) {
        for (const column of columns) appendCell(appender, column, survey)
        appender.endRow()
      }
      appender.closeSync()
    }
    await connection.run('COMMIT')
    surveys = []
  }
  for (let page = 1; page !== null; ) {
    const answer = await get(`/surveys?page=${page}`)
    surveys.push(...answer.surveys)
    page = answer.pagination.next_page
    if (surveys.length >= ROWS_AT_ONCE || page === null) await append()
  }
  await connection.run('CHECKPOINT')
  close()
}

/** The value of the survey, or one as long as ours. */
function appendCell(appender, { name, type, notnull }, survey) {
  const {
    [name]: value = null,
    id,
    updated_at,
  } = { listed_at: survey.updated_at, survey_id: survey.id, ...survey }
  if (value === null && !notnull) appender.appendNull()
  else if (type === 'BIGINT') appender.appendBigInt(BigInt(value ?? id))
  else if (type === 'VARCHAR') appender.appendVarchar(value ?? 'default')
  else
    appender.appendTimestampTZ(new DuckDBTimestampTZValue(BigInt(Date.parse(value ?? updated_at)) * 1_000n))
}

async function night(warehouse, ...paths) {
  const file = join(warehouse, 'work.duckdb')
  const { connection, close } = await open(file)
  for (const path of paths) await get(path.replace('/api/v1', ''))
  await connection.run('UPDATE main.freshness SET refreshed_at = refreshed_at')
  await connection.run('CHECKPOINT')
  const copy = join(warehouse, 'copy.duckdb')
  copyFileSync(file, copy)
  await connection.run(`ATTACH '${copy}' AS copy (READ_ONLY)`)
  await connection.run('FROM copy.main.surveys LIMIT 0')
  close()
}

/** Opens the database as a sync does. */
async function open(file) {
  const instance = await DuckDBInstance.create(file, {
    allocator_background_threads: 'true',
    allocator_flush_threshold: '32MB',
    checkpoint_threshold: '128MB',
    experimental_metadata_reuse: 'false',
    memory_limit: '256MB',
    storage_compatibility_version: 'v0.10.2',
    threads: '1',
  })
  const connection = await instance.connect()
  const close = () => {
    connection.closeSync()
    instance.closeSync()
  }
  return { connection, close }
}

async function get(path) {
  const env = process.env
  const headers = {
    'authorization-id': env.FIELDWORK_SYNC_API_ID,
    'authorization-token': env.FIELDWORK_SYNC_API_TOKEN,
  }
  const { body } = await request(`${env.FIELDWORK_SYNC_BASE_URL}${path}`, { headers })
  return await body.json()
}
