/**
 * `npm run picture`: draws docs/images/run.svg from a real run. It is the second sync of the tutorial, in a terminal, against the
 * reference server.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasTerminal, openTerminal, screenOf } from '../support/process/terminal.mjs'
import { draw } from './draw.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PICTURE = `${root}docs/images/run.svg`
const SHOWN_DIRECTORY = '/home/you/fieldwork-sync'
const WAREHOUSE = 'warehouse/tutorial'
const COMMAND = 'fieldwork-sync sync'

if (!hasTerminal) throw new Error('the picture needs bash and the command script of util-linux')
const directory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-'))
try {
  const script = `#!/bin/sh\nexec node ${root}dist/main.js "$@"\n`
  await writeFile(join(directory, 'fieldwork-sync'), script, { mode: 0o755 })
  const env = { PATH: `${directory}:${process.env.PATH}`, HOME: process.env.HOME, TZ: 'UTC' }
  const first = await openTerminal({ cwd: directory, env })
  const second = await openTerminal({ cwd: directory, env })
  first.type(
    'fieldwork-sync reference-server --port 0 --seed 5 --surveys 60 --clock frozen --rate-limit 60/1s --titles plain',
  )
  const { base_url, accounts } = JSON.parse((await first.waitFor('\n')).trim())
  const settings = {
    BASE_URL: base_url,
    API_ID: accounts[0].id,
    API_TOKEN: accounts[0].token,
    RATE_LIMIT: '60/1s',
    WAREHOUSE,
  }
  for (const [name, value] of Object.entries(settings))
    await second.run(`export FIELDWORK_SYNC_${name}=${value}`)
  await second.run(COMMAND)
  const moved = await fetch(new URL('/_reference/time', base_url), {
    method: 'POST',
    body: '{"advance": "P1D"}',
  })
  if (!moved.ok) throw new Error(`the clock did not move: ${await moved.text()}`)
  const output = await second.run(COMMAND)
  await mkdir(`${root}docs/images`, { recursive: true })
  await writeFile(PICTURE, draw(COMMAND, screenOf(output.replaceAll(directory, SHOWN_DIRECTORY))))
  for (const terminal of [first, second]) await terminal[Symbol.asyncDispose]()
} finally {
  await rm(directory, { recursive: true, force: true })
}
console.log(`drawn: ${PICTURE}`)
