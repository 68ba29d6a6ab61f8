/**
 * Several processes sync one account into separate warehouses and share its cap through Redis. The server's own log shows that
 * they keep it. During the runs, processes are killed, and Redis restarts, loses its data or goes away.
 */

import { describe, expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import type { Running } from '../support/command/command.js'
import { answered, lastLine, openTrial, stderrShows, stopWith, type Trial } from '../support/command/trial.js'
import type { Finished } from '../support/files/temporary.js'
import { paceOf } from '../support/oracle/rate.js'
import { HAS_REDIS, startRedis, type TestRedis } from '../support/servers/redis.js'
import { SLOW } from '../support/suite/slow.js'

const CAP = 20
const WINDOW_MS = 2_000
const PASSWORD = 'pa55-word-of-redis'

/** A Redis, a server without a cap of its own, and a function that starts a sync into a new warehouse. */
const openShared = async (
  context: { readonly onTestFinished: Finished },
  unreachable: string,
  aof = true,
) => {
  const redis = await startRedis(context.onTestFinished, { aof, password: PASSWORD })
  const server = await startWorld({ surveys: 200 })
  context.onTestFinished(async () => await server[Symbol.asyncDispose]())
  const [account] = server.accounts
  if (account === undefined) throw new Error('the server has no account')
  const sync = async (requests: number) => {
    const trial = await openTrial(context)
    const settings = await trial.settings({
      accounts: [
        {
          base_url: server.baseUrl,
          id: account.id,
          token: account.token,
          rate_limit: {
            requests: CAP,
            per: `${WINDOW_MS}ms`,
            shared: redis.url,
            shared_fallback: unreachable,
          },
        },
      ],
      limits: { request_timeout: '3s' },
    })
    const args = ['sync', ...settings, '--json', '--log-level', 'debug', '--max-requests', String(requests)]
    return { trial, running: trial.start(args, WITHOUT) }
  }
  return { redis, server, sync }
}

/** The settings file has all settings of the account. DEBUG must not make the Redis client print its password. */
const WITHOUT = {
  ...Object.fromEntries(
    ['BASE_URL', 'API_ID', 'API_TOKEN', 'RATE_LIMIT'].map((name) => [`FIELDWORK_SYNC_${name}`, undefined]),
  ),
  DEBUG: '*',
}

const reportOf = (trial: Trial, stdout: string): { accounts: { requests: number }[] } => {
  expect(trial.warehouse).not.toBe('')
  return JSON.parse(stdout)
}

/** How often the logs of the runs say that Redis may lack requests. */
const unknownPauses = (runs: readonly { readonly running: Running }[]): number =>
  runs.reduce(
    (sum, { running }) => sum + running.stderr().split('Redis has no record of recent requests').length - 1,
    0,
  )

const expectAnswer = async (redis: TestRedis) => {
  expect(Number(await redis.call('exists', 'nothing'))).toBe(0)
}

describe.runIf(SLOW && HAS_REDIS)('one cap for several processes', () => {
  test.concurrent('processes keep the cap and use all of it when one is killed and another takes its place', {
    timeout: 300_000,
  }, async (context) => {
    const { server, sync } = await openShared(context, 'stop')
    const one = await sync(150)
    const two = await sync(150)
    await stderrShows(one.running, answered(30))
    await stderrShows(two.running, answered(30))
    await stopWith(two.running, 'SIGKILL')
    const three = await sync(60)
    for (const { running } of [one, three]) expect(await running.ended).toMatchObject({ code: 3 })
    const pace = await paceOf(server)
    expect(pace.requests).toBeGreaterThan(200)
    expect(pace.mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)
    // The killed process and the others together use as much as the cap allows.
    expect(pace.mostInAny(WINDOW_MS)).toBeGreaterThanOrEqual(CAP - 1)
    for (const { running } of [one, two, three]) expect(running.stderr()).not.toContain('pa55')
  })

  test.concurrent('all processes pause once when Redis is killed and started again with its append-only file, then the runs continue', {
    timeout: 300_000,
  }, async (context) => {
    const { redis, server, sync } = await openShared(context, 'stop')
    const runs = [await sync(120), await sync(120)]
    for (const { running } of runs) await stderrShows(running, answered(25))
    await redis.kill()
    await redis.start()
    for (const { running } of runs) expect(await running.ended).toMatchObject({ code: 3 })
    // The first process each time: when the Redis was new, and when it was started again.
    expect(unknownPauses(runs)).toBe(2)
    expect((await paceOf(server)).mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)
    await expectAnswer(redis)
  })

  test.concurrent('runs end with 4 and name Redis when it goes away for good', {
    timeout: 300_000,
  }, async (context) => {
    const { redis, server, sync } = await openShared(context, 'stop')
    const runs = [await sync(500), await sync(500)]
    for (const { running } of runs) await stderrShows(running, answered(25))
    await redis.kill()
    for (const { trial, running } of runs) {
      const ended = await running.ended
      expect(ended.code).toBe(4)
      expect(ended.stdout).toContain('the Redis that shares the cap of account')
      expect(`${ended.stdout}${ended.stderr}`).not.toContain('pa55')
      expect(reportOf(trial, ended.stdout).accounts[0]?.requests).toBeLessThan(500)
      expect(lastLine(ended)).not.toBe('')
    }
    expect((await paceOf(server)).mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)
  })

  test.concurrent('runs with a fallback keep the cap while Redis goes away and comes back', {
    timeout: 300_000,
  }, async (context) => {
    const { redis, server, sync } = await openShared(context, '50%')
    const runs = [await sync(200), await sync(200)]
    for (const { running } of runs) await stderrShows(running, answered(25))
    await redis.kill()
    for (const { running } of runs) await stderrShows(running, /goes on with its fallback/)
    const before = (await paceOf(server)).requests
    for (const { running } of runs) await stderrShows(running, answered(70))
    expect((await paceOf(server)).requests).toBeGreaterThan(before)
    await redis.start()
    for (const { running } of runs) {
      await stderrShows(running, /Redis is back: the cap is shared again|"status"/)
      expect(await running.ended).toMatchObject({ code: 3 })
    }
    expect((await paceOf(server)).mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)
  })
})

test('report and log name a Redis that cannot be reached, and contain none of its credentials', async (context) => {
  const trial = await openTrial(context, [])
  const account = (shared: string) => ({
    accounts: [
      { base_url: trial.api.baseUrl, id: 4711, token: 'tok-of-the-account', rate_limit: { shared } },
    ],
  })
  for (const credentials of ['', `user:${PASSWORD}@`, ':short@']) {
    const settings = await trial.settings(account(`redis://${credentials}127.0.0.1:1`))
    const { code, stdout, stderr } = await trial.runWarm(['sync', ...settings, '--json'], WITHOUT)
    expect(code).toBe(4)
    expect(JSON.parse(stdout).accounts[0].reason).toContain("'default', redis://127.0.0.1:1, cannot be used")
    expect(stderr).toContain('redis://127.0.0.1:1')
    expect(`${stdout}${stderr}`).not.toMatch(/redacted|pa55|short/)
  }
  expect(trial.api.arrivals).toEqual([])
})
