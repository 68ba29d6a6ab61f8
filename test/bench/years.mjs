/**
 * `npm run bench -- years`: what grows with the years. It builds warehouses of 2,000 new surveys a year with five sources each, observed every
 * night of their 60 days in fieldwork, after 1, 3 and 5 years. In each it measures the first publish, a night in which every survey in
 * fieldwork has moved, and the commands that people run. Arguments: the years; `--surveys` a year; `--readings` of a day; `--keep
 * DIRECTORY` keeps the warehouses, and uses those it finds.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../dist/base/clock.js'
import { PUBLISHED_AS, PUBLISHED_VIEWS } from '../../dist/model/publish-formats.js'
import { createDuckdbPublisher } from '../../dist/publish/duckdb.js'
import { createLacks } from '../../dist/publish/file-system-lacks.js'
import { readManifest } from '../../dist/publish/parquet/manifest.js'
import { createParquetPublisher } from '../../dist/publish/parquet/publisher.js'
import { openWarehouse } from '../../dist/warehouse/lifecycle/open.js'
import { envOf, inDirectory, lowestOf, main, table, timed } from './support.mjs'
import { log } from './worlds/history.mjs'
import { buildYears, openNight, yearsOf } from './worlds/years.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    surveys: { type: 'string', default: '2000' },
    readings: { type: 'string', default: '1' },
    keep: { type: 'string' },
  },
})
const YEARS = positionals.length > 0 ? positionals.map(Number) : [1, 3, 5]
/** The part of a database that a bucket copies if it has not changed. */
const PART_BYTES = 5 * 2 ** 20
const MB = 1e6

let night
const server = createServer(async (request, response) => {
  const body = await night.answer(new URL(request.url ?? '/', 'http://localhost'))
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const api = {
  baseUrl: `http://127.0.0.1:${server.address().port}/api/v1`,
  accounts: [{ id: 1, token: 'token' }],
}

const row = table(`${'figure'.padEnd(50)}|     value|of the first`)
/** The figures of the first number of years. */
const baseline = new Map()
const figure = (name, value, digits) => {
  if (!baseline.has(name)) baseline.set(name, value)
  row(name, value.toFixed(digits), `${(value / baseline.get(name)).toFixed(1)} x`)
}

await inDirectory(async (temporary) => {
  for (const years of YEARS) await measureYears(options.keep ?? temporary, years)
})
server.close()
server.closeAllConnections()

async function measureYears(root, years) {
  const world = yearsOf({ years, aYear: Number(options.surveys), readings: Number(options.readings) })
  const built = join(root, `years-${years}`)
  if (!existsSync(join(built, 'work.duckdb'))) {
    await mkdir(built, { recursive: true })
    await buildYears(built, world)
  }
  night = await openNight(join(built, 'work.duckdb'), world)
  const warehouse = join(root, 'measured')
  /** A night of a new copy, published as such before. */
  const sync = async (format, settings = '') => {
    await rm(warehouse, { recursive: true, force: true })
    await mkdir(warehouse)
    await copyFile(join(built, 'work.duckdb'), join(warehouse, 'work.duckdb'))
    const first = await publish(format, warehouse)
    const before = format === 'duckdb' ? await partsOf(warehouse) : []
    const config = join(root, 'settings.yaml')
    await writeFile(config, `publish: [${format}]\n${settings}`)
    const ended = await timed([main, 'sync', '--json', '--config', config], envOf(api, warehouse))
    const [{ requests }] = JSON.parse(ended.output).accounts
    return { ...ended, first, requests, before }
  }
  /** Also the CPU of the processes that it starts. */
  const command = (name, ...args) => {
    const { cpu } = lowestOf(1, [main, ...args, '--warehouse', warehouse], { PATH: process.env.PATH })
    figure(`${name}, CPU s`, cpu, 2)
  }

  row(`years: ${years}, surveys: ${world.surveys}`)
  const parquet = await sync('parquet')
  const { version, tables, bytes } = await readManifest(join(warehouse, PUBLISHED_AS.parquet))
  const written = tables.flatMap(({ files }) => files).filter(({ written_by }) => written_by === version)
  const duckdb = await sync('duckdb')
  const parts = await partsOf(warehouse)
  const sent = parts.filter((part, at) => part !== duckdb.before[at]).length
  figure('fieldwork.duckdb, MB', await sizeOf(warehouse), 0)
  figure('Parquet with the default views, MB', bytes / MB, 0)
  figure('requests of a night', duckdb.requests, 0)
  figure('a night, CPU s', duckdb.cpu, 2)
  figure('a night, MB written', duckdb.written, 0)
  figure(
    'a night, MB uploaded in parts of 5 MiB',
    Math.min(sent * PART_BYTES, (await sizeOf(warehouse)) * MB) / MB,
    0,
  )
  figure('a night with Parquet, CPU s', parquet.cpu, 2)
  figure('a night with Parquet, MB written', parquet.written, 0)
  figure('a night with Parquet, MB of new files', written.reduce((sum, file) => sum + file.bytes, 0) / MB, 1)
  figure('first publish, CPU s', duckdb.first, 2)
  figure('first publish of Parquet, CPU s', parquet.first, 2)
  command('report', 'report', '--out', join(root, 'report.html'))
  command('query needs-action', 'query', 'needs-action', '--max-duration', '0')
  command('query surveys-today', 'query', 'surveys-today', '--max-duration', '0')
  command('verify --local', 'verify', '--local')
  for (const format of ['parquet', 'duckdb']) await publish(format, warehouse)
  command('verify --local, also of Parquet', 'verify', '--local')
  await sync('duckdb', 'history:\n  progress_keep_all_for: 90d\n')
  figure('fieldwork.duckdb, progress_keep_all_for 90d, MB', await sizeOf(warehouse), 0)
  night.close()
}

/** CPU seconds of a publish. */
async function publish(format, directory) {
  const database = await openWarehouse({ directory, clock: systemClock, log, command: 'bench' })
  const lacks = createLacks(log)
  const publisher =
    format === 'duckdb'
      ? createDuckdbPublisher(database, directory, lacks)
      : createParquetPublisher({
          database,
          directory,
          clock: systemClock,
          views: PUBLISHED_VIEWS,
          log,
          lacks,
        })
  const began = process.cpuUsage()
  await publisher.publish(new AbortController().signal)
  const { user, system } = process.cpuUsage(began)
  await database.close()
  return (user + system) / 1e6
}

async function sizeOf(warehouse) {
  return (await stat(join(warehouse, PUBLISHED_AS.duckdb))).size / MB
}

async function partsOf(warehouse) {
  const bytes = await readFile(join(warehouse, PUBLISHED_AS.duckdb))
  return Array.from({ length: Math.ceil(bytes.length / PART_BYTES) }, (_, at) =>
    createHash('sha256')
      .update(bytes.subarray(at * PART_BYTES, (at + 1) * PART_BYTES))
      .digest('hex'),
  )
}
