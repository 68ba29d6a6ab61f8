/** What `npm run bench` measures, in groups. A figure is better when it is lower. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inDirectory, inWorld, lowestOf, main, refuseSurveys, startWorld, timed } from '../support.mjs'

const PAGE_SIZE = 50
const START_RUNS = 10
const OUTPUT_MAX_BYTES = 10_000_000

export const GROUPS = {
  start: {
    figures: {
      '--version, wall time of node -e 0': { budget: 2, unit: 'x' },
      '--version, CPU of node -e 0': { budget: 2, unit: 'x' },
    },
    measure: () => {
      const env = { PATH: process.env.PATH }
      const node = lowestOf(START_RUNS, ['-e', '0'], env)
      const version = lowestOf(START_RUNS, [main, '--version'], env)
      return {
        '--version, wall time of node -e 0': version.wall / node.wall,
        '--version, CPU of node -e 0': version.cpu / node.cpu,
      }
    },
  },
  'fan-out': {
    figures: {
      'first load of 500 surveys, wall time': { budget: 8, unit: 's' },
      'first load of 500 surveys, CPU': { budget: 4, unit: 's' },
      'a request beyond the start, CPU': { budget: 1, unit: 'ms' },
      'first load of 500 surveys, peak memory': { budget: 160, unit: 'MB' },
      'a night with nothing to do, CPU': { budget: 0.6, unit: 's' },
    },
    measure: (divide) =>
      inWorld(500 / divide, async ({ sync }) => {
        const start = await startOnly()
        const first = await sync()
        // The second run finds nothing new, as the clock of the world stands still. It reads the 25 surveys that are active or settling,
        // as every night does. `npm run bench -- nights` has a night in which no survey is due.
        const second = await sync()
        return {
          'first load of 500 surveys, wall time': first.wall,
          'first load of 500 surveys, CPU': first.cpu,
          'a request beyond the start, CPU': (1000 * (first.cpu - start.cpu)) / first.requests,
          'first load of 500 surveys, peak memory': first.peak,
          'a night with nothing to do, CPU': second.cpu,
        }
      }),
  },
  list: {
    figures: {
      'listing of 25,000 surveys, wall time': { budget: 4, unit: 's' },
      'listing of 25,000 surveys, CPU': { budget: 4, unit: 's' },
      'a page of 50 surveys, CPU': { budget: 3, unit: 'ms' },
    },
    measure: async (divide) => {
      const start = await startOnly()
      const listed = await listing(25_000 / divide)
      return {
        'listing of 25,000 surveys, wall time': listed.wall,
        'listing of 25,000 surveys, CPU': listed.cpu,
        'a page of 50 surveys, CPU': (1000 * (listed.cpu - start.cpu)) / listed.pages,
      }
    },
  },
  'long-list': {
    figures: { 'listing of 100,000 surveys, peak memory': { budget: 160, unit: 'MB' } },
    isLong: true,
    measure: async (divide) => ({
      'listing of 100,000 surveys, peak memory': (await listing(100_000 / divide)).peak,
    }),
  },
  accounts: {
    figures: {
      '80 accounts at 60 requests a minute, cores': { budget: 0.25, unit: '' },
      '80 accounts, unused part of the cap': { budget: 0.03, unit: '' },
      '80 accounts, refused requests': { budget: 0, unit: '' },
    },
    isLong: true,
    measure: (divide) => manyAccounts(80 / divide),
  },
  nights: {
    figures: Object.fromEntries(
      ['duckdb', 'parquet'].flatMap((format) => [
        [`1,000 changes in 1,000,000 surveys, ${format}, CPU of 10,000`, { budget: 2, unit: 'x' }],
        [`1,000 changes in 1,000,000 surveys, ${format}, peak memory`, { budget: 250, unit: 'MB' }],
      ]),
    ),
    isLong: true,
    measure: async (divide) => {
      const sizes = [10_000, 1_000_000].map((size) => String(size / divide))
      const nights = await linesOf('nights', ['--json', '--changes', String(1_000 / divide), ...sizes])
      return Object.fromEntries(
        ['duckdb', 'parquet'].flatMap((format) => {
          const [small, large] = nights.filter(
            (night) =>
              night.format === format && night.what === `${(1_000 / divide).toLocaleString('en')} changed`,
          )
          return [
            [`1,000 changes in 1,000,000 surveys, ${format}, CPU of 10,000`, large.cpu / small.cpu],
            [`1,000 changes in 1,000,000 surveys, ${format}, peak memory`, large.peak],
          ]
        }),
      )
    },
  },
  // Needs Python. The first run installs dlt.
  dlt: {
    figures: {
      'first load of 500 surveys, wall time of dlt': { budget: 0.2, unit: 'x' },
      'first load of 500 surveys, CPU of dlt': { budget: 0.2, unit: 'x' },
      'listing of 25,000 surveys, wall time of dlt': { budget: 0.1, unit: 'x' },
      'listing of 25,000 surveys, CPU of dlt': { budget: 0.1, unit: 'x' },
    },
    isLong: true,
    measure: async (divide) => {
      const ratios = async (mode, surveys, what) => {
        const args = ['--json', '--repeat', '3', '--only', 'fieldwork-sync,dlt', '--modes', mode]
        const [ours, dlt] = await linesOf('peers', [...args, '--surveys', String(surveys / divide)])
        return dlt === undefined || dlt.problem !== null
          ? {}
          : {
              [`${what}, wall time of dlt`]: ours.wallMs / dlt.wallMs,
              [`${what}, CPU of dlt`]: ours.cpuMs / dlt.cpuMs,
            }
      }
      return {
        ...(await ratios('fan-out', 500, 'first load of 500 surveys')),
        ...(await ratios('list', 25_000, 'listing of 25,000 surveys')),
      }
    },
  },
  tests: {
    figures: { 'npm test, wall time': { budget: 90, unit: 's' } },
    isLong: true,
    measure: async () => {
      const began = performance.now()
      await promisify(execFile)('npm', ['test'], { maxBuffer: OUTPUT_MAX_BYTES })
      return { 'npm test, wall time': (performance.now() - began) / 1_000 }
    },
  },
}

/** The lines of JSON that a benchmark prints. */
async function linesOf(bench, args) {
  const script = new URL(`../${bench}.mjs`, import.meta.url).pathname
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...args])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
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
  const world = await startWorld(['--accounts', String(count), '--surveys', '45', '--clock', 'frozen'])
  try {
    return await inDirectory((directory) => runOf(world, directory))
  } finally {
    await world.close()
  }
}

async function runOf(world, directory) {
  const settings = join(directory, 'settings.yaml')
  const accounts = world.accounts.map(({ name, id, token }) => ({
    name,
    base_url: world.baseUrl,
    id,
    token,
  }))
  await writeFile(settings, JSON.stringify({ warehouse: { directory }, accounts }))
  const ended = await timed([main, 'sync', '--json', '--log-level', 'error', '--config', settings], {
    PATH: process.env.PATH,
  })
  const { requests } = await world.control('GET', 'requests')
  return {
    '80 accounts at 60 requests a minute, cores': ended.cpu / ended.wall,
    '80 accounts, unused part of the cap': Math.max(
      ...world.accounts.map(({ name }) => 1 - usedOf(requests.filter(({ account }) => account === name))),
    ),
    '80 accounts, refused requests': requests.filter(({ status }) => status === 429).length,
  }
}

/** The requests of an account as a part of its cap, from its first request to the first of its last full window. */
function usedOf(requests) {
  const times = requests.map(({ at_ms }) => at_ms)
  const windows = Math.floor((times.length - 1) / CAP)
  if (windows === 0) throw new Error(`an account sent ${times.length} requests, which is no full window`)
  return (windows * WINDOW_MS) / (times[windows * CAP] - times[0])
}
