import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { ExitCode } from '../../../src/base/errors.js'
import { serve } from '../../../src/commands/reference-server.js'
import { COMMANDS } from '../../../src/commands/table.js'
import { readCommandLine } from '../../../src/commands/yargs.js'

const start = (flags: string) => {
  const controller = new AbortController()
  const stdout = new PassThrough({ encoding: 'utf8' })
  const exitCodes: ExitCode[] = []
  const context = {
    signal: controller.signal,
    print: async (text: string) => void stdout.write(text),
    exit: (code: ExitCode) => exitCodes.push(code),
  }
  const ended = serve(context, readCommandLine(['reference-server', ...flags.split(' ')], COMMANDS).flags)
  return { controller, stdout, exitCodes, ended }
}

describe('fieldwork-sync reference-server', () => {
  test('prints one JSON line, serves, and ends with 0 when the signal comes', async () => {
    const { controller, stdout, exitCodes, ended } = start(
      '--port 0 --accounts 2 --surveys 3 --page-size 2 --clock frozen',
    )
    const [line] = (await stdout[Symbol.asyncIterator]().next()).value.split('\n')
    const { base_url, accounts } = JSON.parse(line)
    expect(base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/)
    expect(accounts).toEqual([
      { name: 'default', id: expect.any(Number), token: expect.any(String) },
      { name: 'account-2', id: expect.any(Number), token: expect.any(String) },
    ])
    const headers = { 'Authorization-ID': String(accounts[1].id), 'Authorization-Token': accounts[1].token }
    const answer = await fetch(`${base_url}/surveys`, { headers })
    expect(await answer.json()).toMatchObject({ pagination: { total_count: 3, total_pages: 2 } })
    expect(exitCodes).toEqual([])
    controller.abort()
    await ended
    expect(exitCodes).toEqual([0])
    await expect(fetch(`${base_url}/surveys`)).rejects.toThrow()
    expect(stdout.read()).toBeNull()
  })

  test('its flags set how requests are counted and what a 429 says', async () => {
    const { controller, stdout, ended } = start(
      '--port 0 --surveys 1 --clock frozen --rate-limit 2/1h --rate-window fixed --rate-phase 59m --foreign-load 1 --retry-after date',
    )
    const [line] = (await stdout[Symbol.asyncIterator]().next()).value.split('\n')
    const { base_url, accounts } = JSON.parse(line)
    const headers = { 'Authorization-ID': String(accounts[0].id), 'Authorization-Token': accounts[0].token }
    const ask = () => fetch(`${base_url}/surveys`, { headers })
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
    const refused = await ask()
    expect(refused.status).toBe(429)
    expect(refused.headers.get('date')).toBe('Sun, 01 Mar 2026 00:00:00 GMT')
    expect(refused.headers.get('retry-after')).toMatch(/^Sun, 01 Mar 2026 00:0(0:\d\d|1:00) GMT$/)
    controller.abort()
    await ended
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
