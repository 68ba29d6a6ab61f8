/**
 * `npm run demo`: starts the reference server, syncs twice with a day of its clock in between, and shows the tables and their
 * changes. After some more nights it writes a report, so that its curves show something. It runs the real commands, all on this machine.
 */
import '../../src/node-floor.js'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'

// After the check of Node: it could not load these files.
const { TOOLS } = await import('../bench/peers/tools.mjs')
const { differences, rowsOfFile, rowsOfTruth } = await import('../bench/peers/truth.mjs')
const { envOf, main, startWorld } = await import('../bench/support.mjs')
const { show } = await import('./show.mjs')

const root = new URL('../..', import.meta.url).pathname
const warehouse = `${root}warehouse/demo`
const published = `${warehouse}/fieldwork.duckdb`
/** Nights after the second sync. A forecast needs a week. */
const MORE_NIGHTS = 8

await rm(warehouse, { recursive: true, force: true })
say('1. A local server with the same API: 60 surveys, at most 60 requests in any 2 seconds')
const world = await startWorld('--surveys 60 --seed 6 --rate-limit 60/2s --clock frozen --titles plain')
try {
  console.log(`   ${world.baseUrl}`)

  say('2. The first sync reads everything')
  await sync()
  await compare()

  say('3. A day passes: interviews are held, surveys change, new ones appear')
  await world.control('POST', 'time', { advance: 'P1D' })
  await sync()
  await compare()

  say('4. The tables')
  await show(published)
  console.log(
    `\nThe file stays at warehouse/demo/fieldwork.duckdb. Any DuckDB from 1.1 on opens it: duckdb -readonly, or read_only=True in Python.`,
  )

  say(`5. ${MORE_NIGHTS} more nights, and the report of the last one`)
  for (let night = 0; night < MORE_NIGHTS; night += 1) {
    await world.control('POST', 'time', { advance: 'P1D' })
    await run(['sync'], 'ignore')
  }
  await run(['report', '--out', `${warehouse}/report.html`])
  console.log(
    `\nOpen warehouse/demo/report.html in a browser: it shows what a fieldwork manager sees in the morning.

Ask the tables yourself:
  node dist/main.js query needs-action --warehouse warehouse/demo
  node dist/main.js query "FROM surveys_today WHERE status = 'fieldwork'" --warehouse warehouse/demo
  node dist/main.js query --list`,
  )
} finally {
  await world.close()
}

function say(text) {
  console.log(`\n${text}\n`)
}

async function sync() {
  console.log('$ fieldwork-sync sync')
  await run(['sync'])
}

async function run(args, stdout = 'inherit') {
  const env = {
    ...envOf(world, warehouse),
    FIELDWORK_SYNC_RATE_LIMIT: '60/2s',
    FIELDWORK_SYNC_LOG_LEVEL: 'warn',
  }
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', stdout, 'inherit'] })
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
