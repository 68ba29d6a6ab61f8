/**
 * `npm run demo`: starts the reference server, syncs twice with a day of its clock in between, and shows the tables and their
 * changes. After some more nights it asks what a fieldwork manager asks in the morning, and writes the report. `plan.csv` has what was sold
 * in this world. It runs the real commands, all on this machine.
 */
import '../../src/node-floor.js'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

// After the check of Node: it could not load these files.
const { TOOLS } = await import('../bench/peers/tools.mjs')
const { differences, rowsOfFile, rowsOfTruth } = await import('../bench/peers/truth.mjs')
const { envOf, main, startWorld } = await import('../bench/support.mjs')
const { reasonsOf, show } = await import('./show.mjs')
const { NIGHTS, SETTINGS, WORLD } = await import('./world.mjs')

const root = fileURLToPath(new URL('../..', import.meta.url))
const warehouse = `${root}warehouse/demo`
const published = `${warehouse}/fieldwork.duckdb`
/** What the last lines say, and the reasons in `needs_action` that show it. */
const STORY = [
  ['Ad test BR, wave 19', 'runs short of what was sold', ['late', 'incidence', 'length']],
  ['Ad test ES, wave 2', 'is on time, but one source is bad', ['source_rejects']],
  ['Brand tracker ES, wave 17', 'is in its soft launch, and too long', ['soft_launch']],
]

await rm(warehouse, { recursive: true, force: true })
say('1. A local server with the same API: 60 surveys, 60 requests in any second')
const world = await startWorld(`${WORLD} --rate-limit 60/1s`)
try {
  console.log(`\n   ${world.baseUrl}`)

  say('2. The first sync reads everything, and a plan of what was sold')
  await shown('sync')
  await compare()

  say('3. A day passes: interviews are held, surveys change, new ones appear')
  await moveOn()
  await shown('sync')
  await compare()

  say('4. The tables')
  await show(published)

  say(`5. ${NIGHTS - 2} more nights, and the questions of the morning`)
  for (let night = 2; night < NIGHTS; night += 1) {
    await moveOn()
    await run(['sync'], 'ignore')
  }
  await shown('query', 'needs-action')
  await shown('query', 'as-sold')
  await shown('query', 'source-quality')

  say('6. The same as a page')
  await shown('report', '--out', 'warehouse/demo/report.html')
  await tellStory()
} finally {
  await world.close()
}

function say(text) {
  console.log(`\n${text}`)
}

async function moveOn() {
  await world.control('POST', 'time', { advance: 'P1D' })
}

async function shown(...args) {
  console.log(`\n$ fieldwork-sync ${args.join(' ')}`)
  await run(args)
}

async function run(args, stdout = 'inherit') {
  const env = {
    ...envOf(world, warehouse),
    FIELDWORK_SYNC_CONFIG: SETTINGS,
    FIELDWORK_SYNC_RATE_LIMIT: '60/1s',
    FIELDWORK_SYNC_LOG_LEVEL: 'warn',
  }
  const child = spawn(process.execPath, [main, ...args], {
    cwd: root,
    env,
    stdio: ['ignore', stdout, 'inherit'],
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`fieldwork-sync ${args[0]} ended with exit code ${code}`)
}

/** Lists of sources that the second sync does not read again are equal too: in these nights, no source changes unnoticed. */
async function compare() {
  const truth = rowsOfTruth(await world.control('GET', 'truth'))
  const { rows, examples } = differences(truth, await rowsOfFile(published, TOOLS[0].queries))
  if (rows > 0) throw new Error(`the tables differ from the API:\n${examples.slice(0, 20).join('\n')}`)
  const fields = Object.values(truth).flatMap((table) => [...table.values()].flatMap(Object.keys))
  console.log(`\nchecked: all ${fields.length} fields of the tables equal the API at this moment.`)
}

async function tellStory() {
  const reasons = await reasonsOf(published)
  for (const [title, , kinds] of STORY) {
    const missing = kinds.filter(
      (kind) => !reasons.some((row) => row.title.startsWith(title) && row.kind === kind),
    )
    if (missing.length > 0) throw new Error(`${title} needs no action for ${missing.join(', ')}`)
  }
  console.log(`
Ten nights are in warehouse/demo:
  report.html       open it in a browser: it is the page of the morning
  fieldwork.duckdb  any DuckDB from 1.1 on opens it, read-only

Look under "Today" at:
${STORY.map(([title, text]) => `  ${title} ${text}`).join('\n')}
What was sold is in test/demo/plan.csv.

Ask on:
  node dist/main.js query --list
  node dist/main.js query forecast --warehouse warehouse/demo`)
}
