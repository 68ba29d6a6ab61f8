/**
 * Several processes sync one account into separate warehouses and share its cap through Redis. The server's own log shows that
 * they keep it. During the runs, processes are killed, and Redis restarts, loses its data or goes away.
 */

import { describe, expect, test } from 'vitest'
import type { ReferenceServer } from '../../src/reference-server/server.js'
import { startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import type { Running } from '../support/command/command.js'
import { answered, openTrial, stderrShows, stopWith } from '../support/command/trial.js'
import type { Finished } from '../support/files/temporary.js'
import { paceOf } from '../support/oracle/rate.js'
import { startRedis, type TestRedis } from '../support/servers/redis.js'
import { lacks } from '../support/suite/lacks.js'

const CAP = 20
const WINDOW_MS = 2_000
const PASSWORD = 'pa55-word-of-redis'

/** The settings file has all settings of the account. DEBUG must not make the Redis client print its password. */
const WITHOUT = { ...NO_ACCOUNT, DEBUG: '*' }

/** A Redis, a server without a cap of its own, and a function that starts a sync into a new warehouse. */
const openShared = async (context: { readonly onTestFinished: Finished }, unreachable: string) => {
  const redis = await startRedis(context.onTestFinished, { aof: true, password: PASSWORD })
  const server = await startWorld({ surveys: 200 })
  context.onTestFinished(async () => await server[Symbol.asyncDispose]())
  const sync = async (requests: number): Promise<Running> => {
    const trial = await openTrial(context)
    const settings = await trial.settings({
      accounts: server.accounts.map(({ id, token }) => ({
        base_url: server.baseUrl,
        id,
        token,
        rate_limit: {
          requests: CAP,
          per: `${WINDOW_MS}ms`,
          shared: redis.url,
          shared_fallback: unreachable,
        },
      })),
      limits: { request_timeout: '3s' },
    })
    const args = ['sync', ...settings, '--json', '--log-level', 'debug', '--max-requests', String(requests)]
    return trial.start(args, WITHOUT)
  }
  /** Two syncs that are under way. */
  const two = async (requests: number): Promise<readonly Running[]> => {
    const runs = [await sync(requests), await sync(requests)]
    for (const running of runs) await stderrShows(running, answered(25))
    return runs
  }
  return { redis, server, sync, two }
}

const expectEnds = async (runs: readonly Running[], code: number): Promise<void> => {
  for (const running of runs) {
    const ended = await running.ended
    expect(ended.code, ended.stderr.slice(-2_000)).toBe(code)
    expect(`${ended.stdout}${ended.stderr}`).not.toContain('pa55')
  }
}

const expectCapKept = async (server: ReferenceServer): Promise<void> =>
  expect((await paceOf(server)).mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)

describe.skipIf(lacks('redis-server'))('one cap for several processes', () => {
  test.concurrent('processes keep the cap and use all of it when one is killed and another takes its place', async (context) => {
    const { server, sync, two } = await openShared(context, 'stop')
    const [one, killed] = await two(150)
    if (one === undefined || killed === undefined) throw new Error('two runs were started')
    await stopWith(killed, 'SIGKILL')
    await expectEnds([one, await sync(60)], 3)
    const pace = await paceOf(server)
    expect(pace.requests).toBeGreaterThan(200)
    // The killed process and the others together use as much as the cap allows.
    expect(pace.mostInAny(WINDOW_MS)).toBeGreaterThanOrEqual(CAP - 1)
    await expectCapKept(server)
  })

  const LOSSES: readonly (readonly [what: string, lose: (redis: TestRedis) => Promise<unknown>])[] = [
    ['is killed and started again with its append-only file', (redis) => redis.kill().then(redis.start)],
    ['loses its data', (redis) => redis.call('flushall')],
  ]
  test.concurrent.for(LOSSES)(
    'all processes pause once when Redis %s, then the runs continue',
    async ([, lose], context) => {
      const { redis, server, two } = await openShared(context, 'stop')
      const runs = await two(120)
      await lose(redis)
      await expectEnds(runs, 3)
      // The first process each time: when the Redis was new, and after the loss.
      const logs = runs.map((running) => running.stderr()).join('')
      expect(logs.split('Redis has no record of recent requests')).toHaveLength(1 + 2)
      await expectCapKept(server)
    },
  )

  test.concurrent('runs end with 4 and name Redis when it goes away for good', async (context) => {
    const { redis, server, two } = await openShared(context, 'stop')
    const runs = await two(500)
    await redis.kill()
    await expectEnds(runs, 4)
    for (const running of runs)
      expect((await running.ended).stdout).toContain('the Redis that shares the cap of account')
    await expectCapKept(server)
  })

  test.concurrent('runs with a fallback keep the cap while Redis goes away and comes back', async (context) => {
    const { redis, server, two } = await openShared(context, '50%')
    const runs = await two(200)
    await redis.kill()
    for (const running of runs) await stderrShows(running, /goes on with its fallback/)
    const before = (await paceOf(server)).requests
    for (const running of runs) await stderrShows(running, answered(70))
    expect((await paceOf(server)).requests).toBeGreaterThan(before)
    await redis.start()
    for (const running of runs) await stderrShows(running, /Redis is back: the cap is shared again|"status"/)
    await expectEnds(runs, 3)
    await expectCapKept(server)
  })
})
