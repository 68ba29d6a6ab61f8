/**
 * `npm run picture`: draws docs/images/report.png with Chromium. It is the report after 15 nights against the reference server.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const root = new URL('../..', import.meta.url).pathname
const MAIN = `${root}dist/main.js`
const PICTURE = `${root}docs/images/report.png`
const NIGHTS = 15
const WINDOW = '1200,950'

const directory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-'))
const world = [
  '--port',
  '0',
  '--seed',
  '104',
  '--surveys',
  '60',
  '--clock',
  'frozen',
  '--rate-limit',
  '600/1s',
]
const server = spawn(process.execPath, [MAIN, 'reference-server', ...world], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const [greeting] = await once(createInterface({ input: server.stdout }), 'line')
  const { base_url, accounts } = JSON.parse(greeting)
  const env = {
    PATH: process.env.PATH,
    FIELDWORK_SYNC_BASE_URL: base_url,
    FIELDWORK_SYNC_API_ID: String(accounts[0].id),
    FIELDWORK_SYNC_API_TOKEN: accounts[0].token,
    FIELDWORK_SYNC_RATE_LIMIT: '600/1s',
    FIELDWORK_SYNC_WAREHOUSE: join(directory, 'warehouse'),
    FIELDWORK_SYNC_LOG_LEVEL: 'warn',
  }
  const report = join(directory, 'report.html')
  for (let night = 0; night < NIGHTS; night += 1) {
    if (night > 0) await nextDay(base_url)
    execFileSync(process.execPath, [MAIN, 'sync'], { env, stdio: 'ignore' })
  }
  execFileSync(process.execPath, [MAIN, 'report', '--out', report], { env, stdio: 'ignore' })
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--hide-scrollbars',
    `--user-data-dir=${directory}/profile`,
  ]
  execFileSync(
    'chromium',
    [...flags, `--window-size=${WINDOW}`, `--screenshot=${PICTURE}`, `file://${report}`],
    {
      stdio: 'ignore',
    },
  )
} finally {
  server.kill('SIGTERM')
  if (server.exitCode === null) await once(server, 'exit')
  await rm(directory, { recursive: true, force: true })
}
console.log(`drawn: ${PICTURE}`)

async function nextDay(base) {
  const moved = await fetch(new URL('/_reference/time', base), { method: 'POST', body: '{"advance": "P1D"}' })
  if (!moved.ok) throw new Error(`the clock did not move: ${await moved.text()}`)
}
