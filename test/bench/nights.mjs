/**
 * `npm run bench -- nights`: builds warehouses of 10,000, 100,000 and 1,000,000 surveys with eight observations each, and measures in each
 * of them a night in which nothing changed, `plan`, `status`, and a night in which 1,000 surveys changed. Each command is a process
 * of its own, from its start to its end. A cost that follows what changed is the same in every row. Arguments: sizes, and
 * `--publish duckdb` or `--publish parquet` for one format only. `--keep DIRECTORY` keeps the warehouses, and uses those it finds.
 * `--json` prints the figures of each night as one line of JSON.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cpuOf, envOf, inDirectory, main, table, timed } from './support.mjs'
import { openHistory } from './worlds/history.mjs'
import { answerOf } from './worlds/night-api.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    publish: { type: 'string' },
    keep: { type: 'string' },
    changes: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
  },
})
const SIZES = positionals.length > 0 ? positionals.map(Number) : [10_000, 100_000, 1_000_000]
const FORMATS = options.publish === undefined ? ['duckdb', 'parquet'] : [options.publish]
/** Surveys of two years, closed long ago, and read within the last weeks: none of them is due. */
const CLOSED = {
  sources: 2,
  nights: 8,
  apart: 3,
  versions: [3, 1],
  createdOver: 690,
  newest: 'now() - INTERVAL 70 DAY',
  listedAt: 'now() - INTERVAL 1 DAY',
  readAt: 'now() - to_hours(24 + (survey % 400)::INTEGER)',
  status: `'complete'`,
}

/** The ids that the API lists as changed: most of them the newest. */
let changed = []
/** The number of all surveys. */
let known = 0
/** The process that is measured, and its CPU time at its first request, its first survey, and its last request. */
let measured

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const cpu = cpuOf(measured.pid)
  measured.first ??= cpu
  if (!url.pathname.endsWith('/surveys')) measured.reading ??= cpu
  response.on('finish', () => {
    measured.last = cpuOf(measured.pid)
  })
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answerOf(url.pathname, url.searchParams, changed, known)))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const api = {
  baseUrl: `http://127.0.0.1:${server.address().port}/api/v1`,
  accounts: [{ id: 1, token: 'token' }],
}

const baseline = new Map()
await inDirectory(async (temporary) => {
  const root = options.keep ?? temporary
  for (const format of FORMATS) {
    const heads =
      'of the smallest:1 x|CPU s:2|wall s:1|peak MB:0|written MB:1|start:2|listing:2|reading:2|   end:2'
    const row = options.json ? () => undefined : table(`${format}: surveys, night        |${heads}`)
    for (const surveys of SIZES) await measureSize(root, surveys, format, row)
  }
})
server.close()
server.closeAllConnections()

async function measureSize(root, surveys, format, row) {
  known = surveys
  const built = join(root, String(surveys))
  if (!existsSync(join(built, 'work.duckdb'))) {
    await mkdir(built, { recursive: true })
    await (await openHistory(built, { surveys, ...CLOSED })).close()
  }
  const warehouse = join(root, 'measured')
  await rm(warehouse, { recursive: true, force: true })
  await mkdir(warehouse)
  await cp(join(built, 'work.duckdb'), join(warehouse, 'work.duckdb'))
  const { size } = await stat(join(warehouse, 'work.duckdb'))
  const name = surveys.toLocaleString('en')
  row(`${name} surveys, work database ${(size / 2 ** 20).toFixed(0)} MiB`)
  const measure = async (what, command, ...flags) => {
    measured = { pid: 0, first: null, reading: null, last: null }
    const started = (pid) => {
      measured.pid = pid
    }
    const args = [main, command, '--json', ...flags]
    const { cpu, wall, peak, written } = await timed(args, envOf(api, warehouse), { started })
    if (options.json) console.log(JSON.stringify({ format, surveys: name, what, cpu, wall, peak, written }))
    const key = `${format} ${what}`
    if (!baseline.has(key)) baseline.set(key, cpu)
    const { first, reading, last } = measured
    const phases =
      first === null ? [] : [first, (reading ?? last) - first, last - (reading ?? last), cpu - last]
    row(`${name.padStart(9)}  ${what}`, cpu / baseline.get(key), cpu, wall, peak, written, ...phases)
  }
  changed = []
  await measure('first publish', 'sync', '--publish', format)
  await measure('nothing changed', 'sync', '--publish', format)
  await measure('plan', 'plan')
  await measure('status', 'status')
  changed = changedOf(surveys, Math.min(surveys, Number(options.changes)))
  await measure(`${changed.length.toLocaleString('en')} changed`, 'sync', '--publish', format)
}

/** Ninety-nine of a hundred are the newest surveys, the others are of any age. */
function changedOf(surveys, count) {
  const newest = Math.floor(count * 0.99)
  const older = count - newest
  const ages = Array.from({ length: older }, (_, at) => 1 + Math.floor(((surveys - newest) * at) / older))
  return [...Array.from({ length: newest }, (_, at) => surveys - at), ...ages.toReversed()]
}
