/**
 * `npm run bench -- peers`: reads the same three nights with fieldwork-sync and with other tools, and compares requests, time, CPU,
 * memory, refused requests, and rows that differ from the truth.
 *
 * - nights: three nights, a day apart, without a cap. After each night, the tables are compared with the truth.
 * - fan-out: a first load without a cap.
 * - granted: a first load at 50 requests a second, a cap that a service may grant.
 * - list: the list of surveys alone, without a cap.
 * - cap: a first load at 60 requests in a shortened window.
 * - kill: a first load that is killed, and runs again.
 *
 * A tool that cannot be installed is named, and left out. `--write` puts the tables into the page of the documentation.
 * `--json` prints the figures of each tool as one line of JSON.
 */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ENVIRONMENTS, install } from './peers/environments.mjs'
import { measure } from './peers/measure.mjs'
import { leftOutTable, notesOf, tableOf, versionsTable, writePage } from './peers/report.mjs'
import { TOOLS } from './peers/tools.mjs'
import { differences, rowsOfFile, rowsOfTruth, TABLES } from './peers/truth.mjs'
import { refuseSurveys, startWorld } from './support.mjs'

const NIGHTS = 3
const PAGE_SIZE = 50
const RUN_MINUTES_MAX = 15
const CAP = '60/10s'
const EXAMPLES_MAX = 10
const ALL_TOOLS = TOOLS.map(({ name }) => name)

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: ALL_TOOLS.join(',') },
    modes: { type: 'string', default: 'nights,fan-out,granted,list,cap,kill' },
    /** Surveys of each mode. `--surveys` sets all of them. */
    surveys: { type: 'string' },
    /** Runs of each mode but `nights`. The lowest figures count, because other work on the machine can only raise them. */
    repeat: { type: 'string', default: '1' },
    /** Directory of the virtual environments. */
    environments: { type: 'string', default: ENVIRONMENTS },
    write: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    examples: { type: 'boolean', default: false },
  },
})
const repeat = Number(options.repeat)
const show = options.json ? () => undefined : console.log
const MODES = {
  // In these nights surveys are created, renamed and change their status; sources are added and removed.
  nights: { surveys: 200, seed: 1, cap: null, nights: NIGHTS },
  'fan-out': { surveys: 500, seed: 42, cap: null, nights: 1 },
  granted: { surveys: 500, seed: 42, cap: '50/1s', nights: 1 },
  list: { surveys: 25_000, seed: 42, cap: null, nights: 1, isList: true },
  cap: { surveys: 50, seed: 42, cap: CAP, nights: 1 },
  kill: { surveys: 100, seed: 42, cap: null, nights: 1, killedAfter: 250 },
}

const modes = chosen('--modes', options.modes, Object.keys(MODES))
const names = chosen('--only', options.only, ALL_TOOLS)
// Started processes and their files are gone when this process ends.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const tools = await installAll()
show(`${versionsTable(tools)}\n\n${leftOutTable(tools)}`)
const results = []
for (const mode of modes) {
  const surveys = Number(options.surveys ?? MODES[mode].surveys)
  const settings = { ...MODES[mode], surveys }
  for (const tool of tools) {
    const [ways, runs] = mode === 'nights' ? [Object.keys(tool.ways), 1] : [['all'], repeat]
    for (const way of ways) results.push({ mode, tool, way, ...(await lowestOf(runs, settings, tool, way)) })
  }
  const measured = results.filter((result) => result.mode === mode)
  show(`\n${mode}: ${surveys} surveys\n\n${tableOf(mode, measured)}\n`)
  for (const note of notesOf(mode, measured)) show(`- ${note}`)
  if (options.json)
    for (const { tool, wallMs, cpuMs, problem } of measured)
      console.log(JSON.stringify({ mode, tool: tool.name, wallMs, cpuMs, problem }))
}
if (options.write) await writePage(tools, results)

function chosen(flag, text, known) {
  const unknown = text.split(',').filter((name) => !known.includes(name))
  if (unknown.length === 0) return text.split(',')
  console.error(`${flag} has ${unknown.join(', ')}: choose among ${known.join(', ')}`)
  process.exit(2)
}

async function installAll() {
  const installed = []
  for (const tool of TOOLS.filter(({ name }) => names.includes(name))) {
    try {
      const bin = {}
      for (const [name, list] of Object.entries(tool.environments))
        bin[name] = await install(list, options.environments)
      installed.push({ ...tool, bin })
    } catch (error) {
      const why = lastLine(error.stderr || error.message)
      console.error(`${tool.name} is left out, it cannot be installed: ${why}`)
    }
  }
  return installed
}

async function lowestOf(runs, settings, tool, way) {
  const read = []
  for (let run = 0; run < runs; run += 1) read.push(await readNights(settings, tool, way))
  const lowest = (field) => Math.min(...read.map((one) => one[field]))
  const first = read.find(({ problem }) => problem !== null) ?? read[0]
  return { ...first, wallMs: lowest('wallMs'), cpuMs: lowest('cpuMs'), peakMiB: lowest('peakMiB') }
}

/**
 * Reads the nights of one tool in one way, in a new directory. Every tool gets a reference server of its own with the same seed, so all of
 * them read the same world.
 */
async function readNights({ surveys, seed, cap, nights, isList = false, killedAfter = null }, tool, way) {
  const limit = cap === null ? '--rate-window none' : `--rate-limit ${cap} --rate-window sliding`
  const flags = `--seed ${seed} --clock frozen --page-size ${PAGE_SIZE} --surveys ${surveys} ${limit}`
  const world = await startWorld(flags)
  const requestsOf = async () => (await world.control('GET', 'requests')).requests
  const directory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-peers-'))
  const remove = () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
  process.once('exit', remove)
  try {
    // Our command has no flag for the list alone. It stops after the first refused surveys.
    if (isList) await refuseSurveys(world)
    const run = () => {
      const started = tool.command({ bin: tool.bin, world, directory, cap, way: isList ? 'surveys' : way })
      return { ...started, cwd: directory, limitMs: RUN_MINUTES_MAX * 60_000 }
    }
    const killed = []
    if (killedAfter !== null) {
      await measure({ ...run(), isToBeKilled: async () => (await requestsOf()).length >= killedAfter })
      killed.push((await requestsOf()).length)
      await world.control('DELETE', 'requests')
    }
    const read = []
    for (let night = 1; night <= nights; night += 1) {
      if (night > 1) await world.control('POST', 'time', { advance: 'P1D' })
      const ended = await measure(run())
      const problem = problemOf(ended, isList && tool.name === 'fieldwork-sync')
      if (problem !== null) return { problem }
      const requests = await requestsOf()
      await world.control('DELETE', 'requests')
      const found = await differencesNow(world, directory, tool, isList)
      if (options.examples)
        console.log(
          `${tool.name}, ${way}, night ${night}: ${found.examples.slice(0, EXAMPLES_MAX).join('; ')}`,
        )
      const refused = requests.filter(({ status }) => status === 429).length
      read.push({ ...ended, found, refused, requests: requests.length })
    }
    return { ...summed(read), killed }
  } finally {
    await world.close()
    process.removeListener('exit', remove)
    remove()
  }
}

async function differencesNow(world, directory, tool, isList) {
  const stored = await rowsOfFile(join(directory, tool.file), tool.queries, isList ? ['surveys'] : TABLES)
  const truth = await world.control('GET', isList ? 'truth?only=surveys' : 'truth')
  return differences(rowsOfTruth(truth), stored)
}

function problemOf({ code, isTimedOut, output }, isRefused) {
  if (isTimedOut) return `ended after ${RUN_MINUTES_MAX} minutes`
  return code === 0 || isRefused ? null : `exit ${code}: ${lastLine(output)}`
}

function summed(nights) {
  const sum = (field) => nights.reduce((total, night) => total + night[field], 0)
  return {
    problem: null,
    requests: nights.map(({ requests }) => requests),
    rows: nights.map(({ found }) => found.rows),
    last: nights.at(-1).found,
    refused: sum('refused'),
    wallMs: sum('wallMs'),
    cpuMs: sum('cpuMs'),
    peakMiB: Math.max(...nights.map(({ peakMiB }) => peakMiB)),
  }
}

function lastLine(text) {
  return text.trim().split('\n').at(-1)
}
