import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { ExitCode } from '../../../src/base/errors.js'
import type { FlagValues } from '../../../src/commands/flags.js'
import { serve } from '../../../src/commands/reference-server.js'
import { runYargs } from '../../../src/commands/yargs.js'
import { temporaryDirectory } from '../../support/files/temporary.js'

const start = (flags: string) => {
  const controller = new AbortController()
  const stdout = new PassThrough({ encoding: 'utf8' })
  const exitCodes: ExitCode[] = []
  const context = {
    signal: controller.signal,
    print: async (text: string) => stdout.write(text),
    exit: (code: ExitCode) => exitCodes.push(code),
  }
  const run = (_: unknown, values: FlagValues) => serve(context, values)
  const ended = runYargs(['reference-server', ...flags.split(' ')], { columns: 80, run })
  /** Resolves when the server serves. */
  const served = async () => {
    const [line] = (await stdout[Symbol.asyncIterator]().next()).value.split('\n')
    const { base_url, accounts } = JSON.parse(line)
    const ask = (query = '', place = 0) => {
      const { id, token } = accounts[place]
      const headers = { 'Authorization-ID': String(id), 'Authorization-Token': token }
      return fetch(`${base_url}/surveys${query}`, { headers })
    }
    return { base_url, accounts, ask }
  }
  return { controller, stdout, exitCodes, ended, served }
}

describe('fieldwork-sync reference-server', () => {
  test('prints one JSON line, serves, and ends with 0 when the signal comes', async () => {
    const { controller, stdout, exitCodes, ended, served } = start(
      '--port 0 --accounts 2 --surveys 3 --page-size 2 --clock frozen',
    )
    const { base_url, accounts, ask } = await served()
    expect(base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/)
    expect(accounts).toEqual([
      { name: 'default', id: expect.any(Number), token: expect.any(String) },
      { name: 'account-2', id: expect.any(Number), token: expect.any(String) },
    ])
    expect(await (await ask('', 1)).json()).toMatchObject({ pagination: { total_count: 3, total_pages: 2 } })
    expect(exitCodes).toEqual([])
    controller.abort()
    await ended
    expect(exitCodes).toEqual([0])
    await expect(fetch(`${base_url}/surveys`)).rejects.toThrow()
    expect(stdout.read()).toBeNull()
  })

  test('its flags set how requests are counted and what a 429 says', async () => {
    const { controller, ended, served } = start(
      '--port 0 --surveys 1 --clock frozen --rate-limit 2/1h --rate-window fixed --rate-phase 59m --foreign-load 1 --retry-after date',
    )
    const { ask } = await served()
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
    const refused = await ask()
    expect(refused.status).toBe(429)
    expect(refused.headers.get('date')).toBe('Sun, 01 Mar 2026 00:00:00 GMT')
    expect(refused.headers.get('retry-after')).toMatch(/^Sun, 01 Mar 2026 00:0(0:\d\d|1:00) GMT$/)
    controller.abort()
    await ended
  })

  test('--faults names a file of faults, and a signal ends it even while requests hang and wait', async () => {
    const path = join(await temporaryDirectory(), 'faults.json')
    const waits = { match: { page: 3 }, action: { delay_ms: 600_000 } }
    const faults = [{ match: { page: 2 }, action: { hang: true } }, waits, { action: { status: 503 } }]
    await writeFile(path, JSON.stringify(faults))
    const { controller, exitCodes, ended, served } = start(`--port 0 --surveys 1 --faults ${path}`)
    const { base_url, ask } = await served()
    expect((await ask()).status).toBe(503)
    const waiting = ['?page=2', '?page=3'].map((query) => expect(ask(query)).rejects.toThrow())
    const arrived = async () =>
      (await (await fetch(new URL('/_reference/requests', base_url))).json()).requests.length
    await expect.poll(arrived, { interval: 20 }).toBe(3)
    controller.abort()
    await Promise.all([...waiting, ended])
    expect(exitCodes).toEqual([0])
  })

  test('a signal that comes before the server has started leaves no server behind', async () => {
    const { controller, exitCodes, ended } = start('--port 0 --surveys 1')
    controller.abort()
    await ended
    expect(exitCodes).toEqual([0])
  })

  test('a wrong flag ends it with exit code 2 and nothing on stdout', async () => {
    const { stdout, ended } = start('--port high --clock fast')
    await expect(ended).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^--port is "high": .*\n--clock is "fast": .*$/),
    })
    expect(stdout.read()).toBeNull()
  })
})
