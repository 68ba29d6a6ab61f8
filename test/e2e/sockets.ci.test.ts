/** The command sends nothing home: every connection that it opens leads to an address of the settings. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { startReceiver } from '../support/servers/receiver.js'

/** Writes a line for each connection, datagram and look-up of a name that Node begins. DuckDB has no network: see the full suite. */
const HOOK = `
import { appendFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { createRequire, syncBuiltinESMExports } from 'node:module'
const require = createRequire('file:///')
const write = (line) => appendFileSync(process.env.SOCKETS_SEEN, line + '\\n')
const watch = (owner, name, lineOf) => {
  const original = owner[name]
  owner[name] = function (...args) {
    write(lineOf(args))
    return original.apply(this, args)
  }
}
watch(Socket.prototype, 'connect', ([first]) => {
  const { host, port, path } = (Array.isArray(first) ? first[0] : first) ?? {}
  return path ?? host + ':' + port
})
watch(require('node:dgram').Socket.prototype, 'send', () => 'datagram')
for (const dns of [require('node:dns'), require('node:dns').promises])
  for (const name of Object.keys(dns).filter((one) => /^(lookup|resolve)/.test(one)))
    watch(dns, name, ([host]) => 'look-up of ' + host)
syncBuiltinESMExports()
`

test('a sync and the commands after it connect only to the addresses of the settings', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  const receiver = await startReceiver(context.onTestFinished)
  const directory = await trial.temporary()
  const [hook, seen] = [join(directory, 'hook.mjs'), join(directory, 'seen')]
  await writeFile(hook, HOOK)
  const env = { NODE_OPTIONS: `--import=${hook}`, SOCKETS_SEEN: seen }
  const connections = async (args: readonly string[]) => {
    await writeFile(seen, '')
    expect(await trial.run(args, env), args[0]).toMatchObject({ code: 0 })
    return [...new Set((await readFile(seen, 'utf8')).split('\n').filter((line) => line !== ''))].sort()
  }
  const api = new URL(trial.api.env.FIELDWORK_SYNC_BASE_URL ?? '').host
  const webhook = new URL(receiver.url).host
  const settings = await trial.settings({ notify: { success: receiver.url } })
  expect(await connections(['sync', '--publish', 'duckdb,parquet', ...settings])).toEqual(
    [api, webhook].sort(),
  )
  expect(await connections(['check'])).toEqual([api])
  expect(await connections(['verify'])).toEqual([api])
  for (const args of [
    ['status'],
    ['query', 'needs-action'],
    ['report', '--out', join(directory, 'report.html')],
  ])
    expect([args[0], await connections(args)]).toEqual([args[0], []])
})
