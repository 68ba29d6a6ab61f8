/**
 * `npm run bench:size`: lists worlds of growing size without a rate window, and prints the memory of the sync and the cost per
 * page. Memory is constant and the cost is linear when these columns do not grow with the number of surveys.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { envOf, main, startWorld } from './processes.mjs'

const PAGE_SIZE = 50
const SIZES = process.argv.slice(2).map(Number)

console.log('surveys  pages  listing s    ms/page  of which CPU of the sync  peak memory MiB')
for (const surveys of SIZES.length > 0 ? SIZES : [25_000, 50_000, 100_000])
  console.log(await measure(surveys))

async function measure(surveys) {
  const flags = ['--surveys', String(surveys), '--page-size', String(PAGE_SIZE)]
  const world = await startWorld([...flags, '--rate-window', 'none', '--clock', 'frozen'])
  const warehouse = await mkdtemp(join(tmpdir(), 'fieldwork-sync-size-'))
  try {
    return await list(world, warehouse, surveys)
  } finally {
    await world.close()
    await rm(warehouse, { recursive: true, force: true })
  }
}

/** A listing may use half of the budget while tasks wait, so the budget is twice its pages. */
async function list(world, warehouse, surveys) {
  const pages = Math.ceil(surveys / PAGE_SIZE)
  const sync = spawn(process.execPath, [main, 'sync', '--json', '--max-requests', String(2 * pages + 2)], {
    env: envOf(world, warehouse),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let report = ''
  sync.stdout.on('data', (text) => {
    report += text
  })
  let peak = 0
  let cpuMs = 0
  const timer = setInterval(async () => {
    if ((await arrivals(world)).length >= pages) return
    cpuMs = await cpuOf(sync.pid)
    peak = Math.max(peak, await peakOf(sync.pid))
  }, 500)
  const [code] = await once(sync, 'close')
  clearInterval(timer)
  const [account] = JSON.parse(report).accounts
  if (code !== 3 || account.cursor_after === null) throw new Error(`the listing is not complete: ${report}`)
  const listing = (await arrivals(world)).filter(({ path }) => path.endsWith('/surveys'))
  const seconds = (listing.at(-1).at_ms - listing[0].at_ms) / 1000
  return [
    String(surveys).padStart(7),
    String(listing.length).padStart(5),
    seconds.toFixed(1).padStart(9),
    ((seconds * 1000) / pages).toFixed(1).padStart(9),
    (cpuMs / pages).toFixed(1).padStart(24),
    peak.toFixed(0).padStart(15),
  ].join('  ')
}

async function arrivals({ control }) {
  return (await control('GET', 'requests')).requests
}

/** High-water mark of a process's memory, MiB. */
async function peakOf(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}

/** CPU time of a process so far, milliseconds (clock ticks are 10 ms on Linux). */
async function cpuOf(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10
}
