/**
 * `npm run bench:export`: measures each command that reads or publishes a whole warehouse of 50,000 surveys with 4.6 million
 * observations of progress. It prints peak memory, time and CPU of the process. The arguments are other numbers of surveys and of
 * observations. It fails when an export takes more memory than `EXPORT_MIB_MAX`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../build/base/clock.js'
import { DATA_TABLES, freshness, HISTORY_TABLES } from '../../build/model/tables.js'
import { qualified, quote } from '../../build/warehouse/connection/ddl.js'
import { openWarehouse } from '../../build/warehouse/lifecycle/open.js'

const SURVEYS = Number(process.argv[2] ?? 50_000)
const OBSERVATIONS = Number(process.argv[3] ?? 90 * SURVEYS)
const SOURCES_EACH = 3
/** A quarter of a survey's observations are its own. The rest belong to its sources. */
const OWNERS = SURVEYS * (1 + SOURCES_EACH)
const EACH = Math.ceil(OBSERVATIONS / OWNERS)

const EXPORT_MIB_MAX = 400

const main = new URL('../../dist/main.js', import.meta.url).pathname
const silent = () => undefined
const log = { debug: silent, info: silent, warn: console.warn, error: console.error }
const directory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-export-'))
const warehouse = join(directory, 'warehouse')
try {
  await fill()
  const { size } = await stat(join(warehouse, 'work.duckdb'))
  console.log(`${SURVEYS} surveys, ${OWNERS * EACH} observations; work database ${mib(size)} MiB`)
  console.log('command                             peak memory MiB  seconds   CPU seconds')
  // No row is in quarantine, so a replay only publishes.
  await measure('publish, DuckDB', ['replay', '--config', await settings('duckdb')])
  await measure('publish, Parquet', ['replay', '--config', await settings('parquet')])
  await measure('status', ['status'])
  await measure('plan', ['plan'])
  await measure('export, CSV', ['export', '--format', 'csv', '--out', join(directory, 'csv')])
  await measure('export, Parquet', ['export', '--format', 'parquet', '--out', join(directory, 'parquet')])
  // The history of surveys fills more than one sheet of 1,048,576 rows.
  const excel = ['--tables', 'surveys,survey_progress,survey_overview,survey_progress_history']
  await measure('export, Excel', ['export', '--format', 'xlsx', '--out', join(directory, 'xlsx'), ...excel])
  await rm(join(warehouse, 'fieldwork.duckdb'))
  await measure('export, CSV from Parquet', ['export', '--format', 'csv', '--out', join(directory, 'csv')])
} finally {
  await rm(directory, { recursive: true, force: true })
}

async function settings(format) {
  const file = join(directory, `${format}.yaml`)
  await writeFile(file, JSON.stringify({ publish: [format] }))
  return file
}

async function fill() {
  const options = { directory: warehouse, clock: systemClock, log, command: 'bench:export' }
  const database = await openWarehouse(options)
  await database.exclusively(async (sql) => {
    for (const table of [...DATA_TABLES, ...HISTORY_TABLES, freshness]) {
      const names = table.columns.map(({ name }) => quote(name))
      const cells = table.columns.map((column) => cell(table, column))
      await sql.run(
        `INSERT INTO ${qualified(table)} (${names.join(', ')}) SELECT ${cells.join(', ')} FROM range(${rowsOf(table)}) AS r(i)`,
      )
    }
  })
  await database.close()
}

function rowsOf({ name }) {
  const owners = /source/.test(name) ? SURVEYS * SOURCES_EACH : SURVEYS
  return /progress_history$/.test(name) ? owners * EACH : owners
}

/** Keys are complete, current versions have no end, and other values do not repeat. Rows are not in the order of their keys. */
function cell({ name: table }, { name, type, nullable }) {
  const owners = /source/.test(table) ? SURVEYS * SOURCES_EACH : SURVEYS
  const owner = `(i * 7919) % ${owners}`
  const survey = /source/.test(table) ? `(${owner}) // ${SOURCES_EACH} + 1` : `${owner} + 1`
  if (name === 'account') return `'default'`
  if (name === 'survey_id') return survey
  if (name === 'sample_source_id') return `${owner} + 1`
  if (name === 'id') return `${owner} + 1`
  if (name === 'observed_at') return `make_timestamptz(1700000000000000 + (i // ${owners}) * 86400000000)`
  if (['valid_to', '_missing_since', 'last_error'].includes(name)) return 'NULL'
  if (name === 'status') return `CASE WHEN i % 20 = 0 THEN 'fieldwork' ELSE 'complete' END`
  if (type === 'JSON') return nullable ? 'NULL' : `'{}'`
  if (type === 'BOOLEAN') return 'i % 2 = 0'
  if (type === 'TIMESTAMPTZ') return 'make_timestamptz(1700000000000000 + i * 1000000)'
  if (type === 'DOUBLE') return `(hash(i, '${name}') % 100000) / 997.0`
  if (type === 'BIGINT') return `(hash(i, '${name}') % 5000)::BIGINT`
  return `concat('${name} ', hash(i, '${name}'))`
}

/** The process reports its own usage when it ends, so nothing is sampled. */
async function measure(what, args) {
  const reporter =
    'data:text/javascript,process.on("exit",()=>process.stderr.write("\\nusage "+JSON.stringify(process.resourceUsage())+"\\n"))'
  const began = performance.now()
  const child = spawn(process.execPath, ['--import', reporter, main, ...args], {
    env: {
      PATH: process.env.PATH,
      FIELDWORK_SYNC_BASE_URL: 'http://127.0.0.1:1/api/v1',
      FIELDWORK_SYNC_API_ID: '1',
      FIELDWORK_SYNC_API_TOKEN: 'none',
      FIELDWORK_SYNC_WAREHOUSE: warehouse,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const [code] = await once(child, 'close')
  const usage = /^usage (.*)$/m.exec(stderr)?.[1]
  if (code !== 0 || usage === undefined) throw new Error(`${what} ended with ${code}: ${stderr}`)
  const { maxRSS, userCPUTime, systemCPUTime } = JSON.parse(usage)
  if (what.startsWith('export') && maxRSS > EXPORT_MIB_MAX * 1_024)
    throw new Error(`${what} took ${(maxRSS / 1_024).toFixed(0)} MiB of memory, more than ${EXPORT_MIB_MAX}`)
  console.log(
    [
      what.padEnd(27),
      (maxRSS / 1_024).toFixed(0).padStart(22),
      ((performance.now() - began) / 1_000).toFixed(1).padStart(7),
      ((userCPUTime + systemCPUTime) / 1e6).toFixed(1).padStart(12),
    ].join('  '),
  )
}

function mib(bytes) {
  return (bytes / 1_048_576).toFixed(0)
}
