/**
 * `npm run bench -- export`: measures each command that reads or publishes a whole warehouse of 50,000 surveys with 4.6 million
 * observations of progress. It prints peak memory, time and CPU of the process. The arguments are other numbers of surveys and of
 * observations. It fails when an export takes more memory than `EXPORT_MIB_MAX`, or a query
 * more than `QUERY_MB_MAX`.
 */
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inDirectory, main, table, timed, withoutApi } from './support.mjs'
import { openHistory } from './worlds/history.mjs'

const SURVEYS = Number(process.argv[2] ?? 50_000)
const SOURCES = 3
const OWNERS = SURVEYS * (1 + SOURCES)
const NIGHTS = Math.ceil(Number(process.argv[3] ?? 90 * SURVEYS) / OWNERS)
const EXPORT_MIB_MAX = 400
const QUERY_MB_MAX = 180
const QUERY =
  'SELECT account, survey_id, interviews_count, sample_size, completion_rate FROM survey_progress_history'

await inDirectory(async (directory) => {
  const warehouse = join(directory, 'warehouse')
  const world = { surveys: SURVEYS, sources: SOURCES, nights: NIGHTS, versions: [1, 1] }
  await (await openHistory(warehouse, world)).close()
  const { size } = await stat(join(warehouse, 'work.duckdb'))
  console.log(
    `${SURVEYS} surveys, ${OWNERS * NIGHTS} observations; work database ${(size / 2 ** 20).toFixed(0)} MiB`,
  )
  const row = table('command                    |peak memory MiB:0|seconds:1|CPU seconds:1')
  const measure = async (what, ...args) => {
    const { wall, cpu, peak } = await timed([main, ...args], withoutApi(warehouse))
    const mib = (peak * 1e6) / 2 ** 20
    row(what, mib, wall, cpu)
    if (args[0] === 'export' && mib > EXPORT_MIB_MAX)
      throw new Error(`${what} took ${mib.toFixed(0)} MiB of memory, more than ${EXPORT_MIB_MAX}`)
    if (args[0] === 'query' && peak > QUERY_MB_MAX)
      throw new Error(`${what} took ${peak.toFixed(0)} MB of memory, more than ${QUERY_MB_MAX}`)
  }
  // No row is in quarantine, so a replay only publishes.
  for (const format of ['duckdb', 'parquet']) {
    const file = join(directory, `${format}.yaml`)
    await writeFile(file, JSON.stringify({ publish: [format] }))
    await measure(`publish, ${format}`, 'replay', '--config', file)
  }
  await measure('status', 'status')
  await measure('plan', 'plan')
  const exported = (what, format, ...more) =>
    measure(what, 'export', '--format', format, '--out', join(directory, format), ...more)
  await exported('export, CSV', 'csv')
  await exported('export, Parquet', 'parquet')
  for (const end of ['csv', 'json', 'md', 'txt', 'parquet'])
    await measure(`query, .${end}`, 'query', QUERY, '--out', join(directory, `rows.${end}`))
  // The history of surveys fills more than one sheet of 1,048,576 rows.
  const tables = 'surveys,survey_progress,survey_overview,survey_progress_history'
  await exported('export, Excel', 'xlsx', '--tables', tables)
  await rm(join(warehouse, 'fieldwork.duckdb'))
  await exported('export, CSV from Parquet', 'csv')
})
