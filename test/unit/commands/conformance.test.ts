/** The real command: its table, its JSON document, its exit codes, and the token in none of its output. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ReferenceServer, startReferenceServer } from '../../../src/reference-server/server.js'
import { start } from '../../support/command/command.js'
import { runWarm } from '../../support/command/warm.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { WORLD } from '../conformance/support.js'

let server: ReferenceServer
beforeAll(async () => {
  server = await startReferenceServer({ ...WORLD, accounts: 2 })
})
afterAll(() => server.close())

const account = (place = 0) => {
  const { id, token } = server.accounts[place] ?? { id: 0, token: '' }
  return { id: String(id), token }
}
const FAST = ['--rate-limit', '60/100ms']

describe.concurrent('conformance', () => {
  test('prints a table of rules, the observations and the totals', async () => {
    const { id, token } = account()
    const flags = ['--base-url', server.baseUrl, '--id', id, '--token', token, ...FAST]
    const { code, stdout, stderr } = await runWarm(['conformance', ...flags])
    expect(code).toBe(0)
    const lines = stdout.split('\n')
    expect(lines[0]).toBe(`${server.baseUrl}, checked against the API document`)
    expect(lines.filter((line) => line === 'Pagination object')).toHaveLength(1)
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}pass +paging\.next +next_page is /))
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}not observable +limits\.refusal +/))
    expect(lines).toContain('                  only checked with --exceed-cap')
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}page size +surveys: 12 records/))
    expect(lines.at(-2)).toMatch(/^\d+ rules: \d+ pass, 0 fail, 1 not observable\.$/)
    expect(stderr).toMatch(/at most 90 requests, 60 per 100 ms/)
    expect(stdout + stderr).not.toContain(token)
  })

  test('--json prints one document, and flags come before the environment', async ({ onTestFinished }) => {
    const { id, token } = account(1)
    const file = join(await temporaryDirectory(onTestFinished), 'token')
    await writeFile(file, `${token}\n`)
    const flags = ['--json', '--id', id, '--token-file', file, '--max-requests', '8', '--log-level', 'silent']
    const ended = await runWarm(['conformance', ...flags], {
      FIELDWORK_SYNC_BASE_URL: server.baseUrl,
      FIELDWORK_SYNC_API_ID: '4711',
      FIELDWORK_SYNC_API_TOKEN: 'not this one',
    })
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    const report: unknown = JSON.parse(ended.stdout)
    expect(report).toMatchObject({
      exit_code: 0,
      base_url: server.baseUrl,
      totals: { fail: 0 },
      requests: 8,
      rate_limited: 0,
      ended_early: null,
      rules: expect.arrayContaining([
        {
          id: 'authentication.none',
          section: 'Authentication',
          text: expect.any(String),
          verdict: 'pass',
        },
        {
          id: 'windows.cover',
          section: 'View the fieldwork progress of a survey',
          text: expect.any(String),
          verdict: 'not_observable',
          reason: 'the limit of 8 requests is reached',
        },
      ]),
      observations: expect.arrayContaining([
        { topic: 'percentages', section: 'Fieldwork progress', told: expect.any(String) },
      ]),
    })
  })

  test('prints one line and exits with 4 for a wrong token', async () => {
    const flags = ['--base-url', server.baseUrl, '--id', account().id, '--token', 'not-the-token']
    const ended = await runWarm(['conformance', ...flags, '--log-level', 'warn'])
    expect(ended).toMatchObject({ code: 4, stdout: '' })
    expect(ended.stderr).toMatch(/^fieldwork-sync: the API refused the credentials \(401\) at GET .*\n$/)
    expect(ended.stderr).not.toContain('not-the-token')
  })

  test('prints what was found when a signal stops it, and exits with 3', async () => {
    const { id, token } = account()
    const flags = ['--base-url', server.baseUrl, '--id', id, '--token', token]
    // After five requests the rate limit makes the command wait an hour.
    const running = start(['conformance', ...flags, '--rate-limit', '5/1h', '--log-level', 'debug'])
    const fifth = () => running.stderr().split('"msg":"request"').length > 5
    await new Promise<void>((resolve, reject) => {
      running.child.stderr?.on('data', () => fifth() && resolve())
      running.ended.then(({ stderr }) => reject(new Error(stderr)), reject)
    })
    running.child.kill('SIGTERM')
    const ended = await running.ended
    expect(ended.code).toBe(3)
    expect(ended.stdout).toMatch(/^ {2}pass +authentication\.none /m)
    expect(ended.stdout).toMatch(/\nended early: stopped by SIGTERM\n.*\(exit 3\)\.\n$/)
  })
})
