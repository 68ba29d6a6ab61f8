/**
 * `npm run bench:nights`: builds warehouses of 10,000, 100,000 and 1,000,000 surveys with two years of history, and measures in each
 * of them a night in which nothing changed, `plan`, `status`, and a night in which 1,000 surveys changed. Each command is a process
 * of its own, from its start to its end. A cost that follows what changed is the same in every row. Arguments: sizes, and
 * `--publish duckdb` or `--publish parquet` for one format only. `--keep DIRECTORY` keeps the warehouses, and uses those it finds.
 * `--json` prints the figures of each night as one line of JSON.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { answerOf, buildWarehouse } from './nights/world.mjs'

const main = new URL('../../dist/main.js', import.meta.url).pathname
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
const COLUMNS = [
  ['CPU s', 7],
  ['wall s', 7],
  ['peak MiB', 9],
  ['written MiB', 12],
  ['start', 6],
  ['listing', 8],
  ['reading', 8],
  ['end', 6],
]
const silent = () => undefined
const show = options.json ? silent : console.log
const log = { debug: silent, info: silent, warn: console.warn, error: console.error }

/** The ids that the API lists as changed: most of them the newest. */
let changed = []
/** The process that is measured, and its CPU time at its first request, its first survey, and its last request. */
let measured = { pid: 0, first: null, reading: null, last: null }

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const cpu = cpuOf(measured.pid)
  measured.first ??= cpu
  if (!url.pathname.endsWith('/surveys')) measured.reading ??= cpu
  const body = JSON.stringify(answerOf(url.pathname, url.searchParams, changed))
  response.on('finish', () => {
    measured.last = cpuOf(measured.pid)
  })
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

const root = options.keep ?? (await mkdtemp(join(tmpdir(), 'fieldwork-sync-nights-')))
await mkdir(root, { recursive: true })
const baseline = new Map()
try {
  for (const format of FORMATS) {
    show(
      `${`${format}: surveys, night`.padEnd(42)}${COLUMNS.map(([name, width]) => name.padStart(width)).join('')}`,
    )
    for (const surveys of SIZES) await measureSize(surveys, format)
  }
} finally {
  server.close()
  server.closeAllConnections()
  if (options.keep === undefined) await rm(root, { recursive: true, force: true })
}

async function measureSize(surveys, format) {
  const built = join(root, String(surveys))
  if (!(await exists(join(built, 'work.duckdb')))) await buildWarehouse(built, surveys, log)
  const warehouse = join(root, 'measured')
  await rm(warehouse, { recursive: true, force: true })
  await mkdir(warehouse)
  await cp(join(built, 'work.duckdb'), join(warehouse, 'work.duckdb'))
  const { size } = await stat(join(warehouse, 'work.duckdb'))
  const name = surveys.toLocaleString('en')
  show(`${name} surveys, work database ${mib(size)} MiB`)
  const environment = {
    PATH: process.env.PATH,
    FIELDWORK_SYNC_BASE_URL: `http://127.0.0.1:${server.address().port}/api/v1`,
    FIELDWORK_SYNC_API_ID: '1',
    FIELDWORK_SYNC_API_TOKEN: 'token',
    FIELDWORK_SYNC_RATE_LIMIT: '10000/100ms',
    FIELDWORK_SYNC_WAREHOUSE: warehouse,
    FIELDWORK_SYNC_LOG_LEVEL: 'error',
  }
  const measure = async (command, what) =>
    print(
      format,
      name,
      what,
      await run(command, environment, command === 'sync' ? ['--publish', format] : []),
    )
  changed = []
  await measure('sync', 'first publish')
  await measure('sync', 'nothing changed')
  await measure('plan', 'plan')
  await measure('status', 'status')
  changed = changedOf(surveys, Math.min(surveys, Number(options.changes)))
  await measure('sync', `${changed.length.toLocaleString('en')} changed`)
}

/** Ninety-nine of a hundred are the newest surveys, the others are of any age. */
function changedOf(surveys, count) {
  const newest = Math.floor(count * 0.99)
  const older = count - newest
  const ages = Array.from({ length: older }, (_, at) => 1 + Math.floor(((surveys - newest) * at) / older))
  return [...Array.from({ length: newest }, (_, at) => surveys - at), ...ages.toReversed()]
}

/** Runs a command, and reports the resources of its process, all threads included. */
async function run(command, env, flags) {
  measured = { pid: 0, first: null, reading: null, last: null }
  const report = `data:text/javascript,${encodeURIComponent(
    `import { writeSync, readFileSync } from 'node:fs'
    process.on('exit', () => writeSync(3, JSON.stringify({ ...process.resourceUsage(), io: readFileSync('/proc/self/io', 'utf8') })))`,
  )}`
  const began = performance.now()
  const child = spawn(
    process.execPath,
    [
      ...(process.env.BENCH_NODE_OPTIONS ?? '').split(' ').filter(Boolean),
      '--import',
      report,
      main,
      command,
      '--json',
      ...flags,
    ],
    {
      env,
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    },
  )
  measured.pid = child.pid
  let [output, usage] = ['', '']
  child.stdout.on('data', (text) => {
    output += text
  })
  child.stdio[3].on('data', (text) => {
    usage += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${command} ended with exit ${code}: ${output}`)
  const { userCPUTime, systemCPUTime, maxRSS, io } = JSON.parse(usage)
  const cpu = (userCPUTime + systemCPUTime) / 1e6
  const { first, reading, last } = measured
  return {
    cpu,
    wall: (performance.now() - began) / 1_000,
    peak: maxRSS / 1_024,
    written: Number(/^wchar: (\d+)/m.exec(io)?.[1] ?? 0) / 1_048_576,
    phases: first === null ? [] : [first, (reading ?? last) - first, last - (reading ?? last), cpu - last],
  }
}

/** With the ratio of its CPU to that of the smallest warehouse. */
function print(format, surveys, what, { cpu, wall, peak, written, phases }) {
  if (options.json) console.log(JSON.stringify({ format, surveys, what, cpu, wall, peak, written }))
  const key = `${format} ${what}`
  if (!baseline.has(key)) baseline.set(key, cpu)
  const cells = [
    cpu.toFixed(2),
    wall.toFixed(1),
    peak.toFixed(0),
    written.toFixed(1),
    ...phases.map((s) => s.toFixed(2)),
  ]
  const ratio = `${(cpu / baseline.get(key)).toFixed(1)} x`
  show(
    `${surveys.padStart(9)}  ${what.padEnd(20)}${ratio.padStart(9)}  ${cells.map((cell, at) => cell.padStart(COLUMNS[at][1])).join('')}`,
  )
}

/** CPU time of a process so far, seconds (clock ticks are 10 ms on Linux). */
function cpuOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100
  } catch {
    return 0
  }
}

function exists(file) {
  return stat(file).then(
    () => true,
    () => false,
  )
}

function mib(bytes) {
  return (bytes / 1_048_576).toFixed(0)
}
