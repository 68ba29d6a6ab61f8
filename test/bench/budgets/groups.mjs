/** What `npm run bench` measures, in groups. A figure is better when it is lower. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inDirectory, inWorld, lowestOf, main, refuseSurveys, startWorld, timed } from '../support.mjs'

const PAGE_SIZE = 50
const START_RUNS = 10
const OUTPUT_MAX_BYTES = 10_000_000
const FORMATS = ['duckdb', 'parquet']

/** Each figure has its budget, its unit, and the name under which `measure` returns it. */
export const GROUPS = {
  start: {
    figures: {
      'status, CPU': [0.5, 's', 'cpu'],
    },
    measure: () =>
      inWorld(3, async ({ env, sync }) => {
        await sync()
        return lowestOf(START_RUNS, [main, 'status'], env)
      }),
  },
  'fan-out': {
    figures: {
      'first load of 500 surveys, wall time': [8, 's', 'wall'],
      'first load of 500 surveys, CPU': [4, 's', 'cpu'],
      'a request beyond the start, CPU': [1, 'ms', 'requestMs'],
      'first load of 500 surveys, peak memory': [160, 'MB', 'peak'],
      'a night with nothing to do, CPU': [1, 's', 'nightCpu'],
    },
    measure: (divide) =>
      inWorld(500 / divide, async ({ sync }) => {
        const start = await startOnly()
        const first = await sync()
        // The second run finds nothing new, as the clock of the world stands still. It reads the surveys that are active,
        // as every night does. `npm run bench -- nights` has a night in which no survey is due.
        const second = await sync()
        return {
          ...first,
          requestMs: (1000 * (first.cpu - start.cpu)) / first.requests,
          nightCpu: second.cpu,
        }
      }),
  },
  list: {
    figures: {
      'listing of 25,000 surveys, wall time': [4, 's', 'wall'],
      'listing of 25,000 surveys, CPU': [4, 's', 'cpu'],
      'a page of 50 surveys, CPU': [3, 'ms', 'pageMs'],
    },
    measure: async (divide) => {
      const start = await startOnly()
      const listed = await listing(25_000 / divide)
      return { ...listed, pageMs: (1000 * (listed.cpu - start.cpu)) / listed.pages }
    },
  },
  'long-list': {
    figures: { 'listing of 100,000 surveys, peak memory': [280, 'MB', 'peak'] },
    isLong: true,
    measure: (divide) => listing(100_000 / divide),
  },
  accounts: {
    figures: {
      '80 accounts at 60 requests a minute, cores': [0.25, '', 'cores'],
      '80 accounts, unused part of the cap': [0.03, '', 'unused'],
      '80 accounts, refused requests': [0, '', 'refused'],
    },
    isLong: true,
    measure: (divide) => manyAccounts(80 / divide),
  },
  nights: {
    figures: Object.fromEntries(
      FORMATS.flatMap((format) => [
        [`1,000 changes in 1,000,000 surveys, ${format}, CPU of 10,000`, [2, 'x', `${format} CPU`]],
        [`1,000 changes in 1,000,000 surveys, ${format}, peak memory`, [250, 'MB', `${format} peak`]],
      ]),
    ),
    isLong: true,
    measure: async (divide) => {
      const sizes = [10_000, 1_000_000].map((size) => String(size / divide))
      const nights = await linesOf('nights', ['--json', '--changes', String(1_000 / divide), ...sizes])
      const changed = nights.filter(({ what }) => what === `${(1_000 / divide).toLocaleString('en')} changed`)
      const ofFormat = (format) => {
        const [small, large] = changed.filter((night) => night.format === format)
        return { [`${format} CPU`]: large.cpu / small.cpu, [`${format} peak`]: large.peak }
      }
      return Object.assign({}, ...FORMATS.map(ofFormat))
    },
  },
  // Needs Python. The first run installs dlt.
  dlt: {
    figures: {
      'first load of 500 surveys, wall time of dlt': [0.2, 'x', 'fan-out wall'],
      'first load of 500 surveys, CPU of dlt': [0.2, 'x', 'fan-out CPU'],
      'listing of 25,000 surveys, wall time of dlt': [0.1, 'x', 'list wall'],
      'listing of 25,000 surveys, CPU of dlt': [0.1, 'x', 'list CPU'],
    },
    isLong: true,
    measure: async (divide) => {
      const ratios = async (mode, surveys) => {
        const args = ['--json', '--repeat', '3', '--only', 'fieldwork-sync,dlt', '--modes', mode]
        const [ours, dlt] = await linesOf('peers', [...args, '--surveys', String(surveys / divide)])
        if (dlt === undefined || dlt.problem !== null) return {}
        return { [`${mode} wall`]: ours.wallMs / dlt.wallMs, [`${mode} CPU`]: ours.cpuMs / dlt.cpuMs }
      }
      return { ...(await ratios('fan-out', 500)), ...(await ratios('list', 25_000)) }
    },
  },
  tests: {
    figures: { 'npm test, wall time': [90, 's', 'wall'] },
    isLong: true,
    measure: async () => {
      const began = performance.now()
      await promisify(execFile)('npm', ['test'], { maxBuffer: OUTPUT_MAX_BYTES })
      return { wall: (performance.now() - began) / 1_000 }
    },
  },
}

/** The lines of JSON that a benchmark prints. */
async function linesOf(bench, args) {
  const script = fileURLToPath(new URL(`../${bench}.mjs`, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...args])
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)))
}

/** The cost of a sync of an organization without surveys. */
const startOnly = () => inWorld(0, ({ sync }) => sync())

/** A sync that lists all surveys and refreshes none, which ends the run. */
const listing = (surveys) =>
  inWorld(surveys, async ({ sync, world }) => {
    await refuseSurveys(world)
    return { ...(await sync({ mayFail: true })), pages: surveys / PAGE_SIZE }
  })

const CAP = 60
const WINDOW_MS = 60_000

/** The accounts of one process at the real cap, for three windows. */
async function manyAccounts(count) {
  const world = await startWorld(`--accounts ${count} --surveys 45 --clock frozen`)
  try {
    return await inDirectory((directory) => runOf(world, directory))
  } finally {
    await world.close()
  }
}

async function runOf(world, directory) {
  const settings = join(directory, 'settings.yaml')
  const accounts = world.accounts.map(({ name, id, token }) => ({ name, base_url: world.baseUrl, id, token }))
  await writeFile(settings, JSON.stringify({ warehouse: { directory }, accounts }))
  const args = [main, 'sync', '--json', '--log-level', 'error', '--config', settings]
  const ended = await timed(args, { PATH: process.env.PATH })
  const { requests } = await world.control('GET', 'requests')
  const unused = world.accounts.map(
    ({ name }) => 1 - usedOf(requests.filter(({ account }) => account === name)),
  )
  const refused = requests.filter(({ status }) => status === 429).length
  return { cores: ended.cpu / ended.wall, unused: Math.max(...unused), refused }
}

/** The requests of an account as a part of its cap, from its first request to the first of its last full window. */
function usedOf(requests) {
  const times = requests.map(({ at_ms }) => at_ms)
  const windows = Math.floor((times.length - 1) / CAP)
  if (windows === 0) throw new Error(`an account sent ${times.length} requests, which is no full window`)
  return (windows * WINDOW_MS) / (times[windows * CAP] - times[0])
}
