/**
 * `npm run demo`: starts the reference server, syncs twice with a day of its clock in between, and shows the tables and their
 * changes. After some more nights it writes a report, so that its curves show something. It runs the real commands, all on this machine.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { differencesFromTruth, micros } from './compare.mjs'
import { show } from './show.mjs'

const main = new URL('../../dist/main.js', import.meta.url).pathname
const root = new URL('../..', import.meta.url).pathname
const warehouse = `${root}warehouse/demo`
const published = `${warehouse}/fieldwork.duckdb`
/** Nights after the second sync. A forecast needs a week. */
const MORE_NIGHTS = 8

/** The API's data after each sync, with its time. */
const truths = []

await rm(warehouse, { recursive: true, force: true })
say('1. A local server with the same API: 60 surveys, at most 60 requests in any 2 seconds')
const server = spawn(
  process.execPath,
  [main, ...'reference-server --port 0 --surveys 60 --seed 6 --rate-limit 60/2s --clock frozen'.split(' ')],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
try {
  const api = await greeting(server)
  console.log(`   ${api.base_url}`)

  say('2. The first sync reads everything')
  await sync(api)
  await compare(api)

  say('3. A day passes: interviews are held, surveys change, new ones appear')
  await post(api, '/_reference/time', { advance: 'P1D' })
  await sync(api)
  await compare(api)

  say('4. The tables')
  await show(published)
  console.log(
    `\nThe file stays at warehouse/demo/fieldwork.duckdb: open it with duckdb -readonly, or read_only=True in Python.`,
  )

  say(`5. ${MORE_NIGHTS} more nights, and the report of the last one`)
  for (let night = 0; night < MORE_NIGHTS; night += 1) {
    await post(api, '/_reference/time', { advance: 'P1D' })
    await run(['sync'], api, 'ignore')
  }
  await run(['report', '--out', `${warehouse}/report.html`], api)
  console.log(
    `\nOpen warehouse/demo/report.html in a browser: it shows what a fieldwork manager sees in the morning.`,
  )
} finally {
  server.kill('SIGTERM')
  if (server.exitCode === null) await once(server, 'exit')
}

function say(text) {
  console.log(`\n${text}\n`)
}

async function greeting(child) {
  const lines = createInterface({ input: child.stdout })
  const [line] = await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('the reference server did not start'))),
  ])
  return JSON.parse(line)
}

/** A proxy of the environment cannot reach the server on this machine's loopback. */
function withoutProxies() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^https?_proxy$/i.test(name)))
}

async function sync(api) {
  console.log('$ fieldwork-sync sync')
  await run(['sync'], api)
}

async function run(args, api, stdout = 'inherit') {
  const [account] = api.accounts
  const env = {
    ...withoutProxies(),
    FIELDWORK_SYNC_BASE_URL: api.base_url,
    FIELDWORK_SYNC_API_ID: String(account.id),
    FIELDWORK_SYNC_API_TOKEN: account.token,
    FIELDWORK_SYNC_RATE_LIMIT: '60/2s',
    FIELDWORK_SYNC_WAREHOUSE: warehouse,
    FIELDWORK_SYNC_LOG_LEVEL: 'warn',
  }
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', stdout, 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`fieldwork-sync ${args[0]} ended with exit code ${code}`)
}

async function compare(api) {
  const get = async (path) => await (await fetch(new URL(`/_reference/${path}`, api.base_url))).json()
  truths.push({ at: micros((await get('time')).now), truth: await get('truth') })
  const { fields, lists, differences } = await differencesFromTruth(published, truths)
  if (differences.length > 0) {
    throw new Error(`the tables differ from the API:\n${differences.slice(0, 20).join('\n')}`)
  }
  const exception =
    lists === 0
      ? ''
      : `\n         Exception: the source lists of ${lists} surveys are from the first day, because nothing has shown a change of them since.` +
        '\n         A change makes a sync read them again. Otherwise it does so weekly (refresh.list_sources_every).'
  console.log(`\nchecked: all ${fields} fields of the tables equal the API at this moment.${exception}`)
}

async function post(api, path, body) {
  const response = await fetch(new URL(path, api.base_url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
}
