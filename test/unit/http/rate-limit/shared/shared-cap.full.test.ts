/** Several processes keep one cap together. These tests also cover runs whose Redis is away or unusable. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { Secret } from '../../../../../src/base/secret.js'
import { connectRedis } from '../../../../../src/http/rate-limit/shared/redis.js'
import { startRedis, type TestRedis } from '../../../../support/servers/redis.js'
import { lacks } from '../../../../support/suite/lacks.js'
import { failureOf, json, startClient, startServer, until, worstWindow } from '../../server-and-client.js'

const shared = (url: string, fallback: number | null = null) => ({ url: new Secret(url), fallback })

/** Ends the pause that follows the start of an empty Redis, to save a test the wait. */
const endQuiet = async (call: TestRedis['call']) => {
  const names = (await call('keys', '*')) as string[]
  expect(names).toHaveLength(1)
  expect(await call('zrem', ...names, 'pause')).toBe(1)
}

test.skipIf(lacks('redis-server'))(
  'two clients with separate ledgers keep one cap, also when one ends and another begins',
  async ({ onTestFinished }) => {
    const [cap, perMs] = [12, 500]
    const redis = await startRedis(onTestFinished, { password: 'pa55-word-of-redis' })
    await using server = await startServer()
    const rate = { requests: cap, perMs }
    const start = () => startClient(server.baseUrl, { rate, shared: shared(redis.url) })
    await using one = start()
    const first = one.get()
    await until(() => one.lines.some(({ message }) => message.includes('Redis has no record')))
    expect(server.arrivals).toHaveLength(0)
    await endQuiet(redis.call)
    await first
    await using two = start()
    const work = [one, two].flatMap((client) => Array.from({ length: 15 }, () => client.get()))
    const short = start()
    await Promise.all([short.get(), short.get()])
    await short.close()
    await Promise.all(work)
    expect(server.arrivals).toHaveLength(33)
    expect(worstWindow(server.arrivals, perMs)).toBeLessThanOrEqual(cap)
    expect(JSON.stringify([one.lines, two.lines, short.lines])).not.toContain('pa55')
  },
)

test.skipIf(lacks('redis-server'))(
  'a pause holds all processes, and each reports it once',
  async ({ onTestFinished }) => {
    const redis = await startRedis(onTestFinished)
    let refusedAtMs = 0
    await using server = await startServer((_request, response, nth) => {
      if (nth !== 2) return json(response, {})
      refusedAtMs = performance.now()
      response.writeHead(429, { 'retry-after': '10' }).end()
    })
    const start = () => startClient(server.baseUrl, { shared: shared(redis.url) })
    await using one = start()
    await using two = start()
    const first = one.get()
    await until(() => one.lines.some(({ message }) => message.includes('Redis has no record')))
    await endQuiet(redis.call)
    await first
    const refused = one.get()
    await until(() => refusedAtMs > 0)
    // The other client requests only when the pause is in Redis.
    const [name = ''] = (await redis.call('keys', '*')) as string[]
    const pausedUntil = async () => -Number((await redis.call('zscore', name, 'pause')) ?? 0)
    await expect.poll(pausedUntil, { interval: 5 }).toBeGreaterThan(0)
    await Promise.all([refused, two.get()])
    const [, , ...later] = server.arrivals
    expect(later).toHaveLength(2)
    for (const { atMs } of later) expect(atMs - refusedAtMs).toBeGreaterThanOrEqual(9_900)
    const reportedPauses = (client: typeof two) =>
      client.lines.filter(({ message }) => message === 'all processes that share the cap are paused').length
    // The pause after the start of an empty Redis has a message of its own, which came once.
    expect([reportedPauses(one), reportedPauses(two)]).toEqual([0, 1])
    await redis.call('zadd', name, String(-(Date.now() + 5_000)), 'pause')
    await two.get()
    expect(reportedPauses(two), 'the next pause is reported as well').toBe(2)
  },
)

describe.skipIf(lacks('redis-server'))('the script in Redis', () => {
  const open = (redis: TestRedis) => {
    const connection = connectRedis(new Secret(redis.url), 'name')
    onTestFinished(() => connection.close())
    const take = (id: string, cap = 2, { isFirst = 0 }: { isFirst?: 0 | 1 } = {}) =>
      connection.run(['take', id, 60_000, 90_000, cap, isFirst])
    const hold = (id: string, durationMs: number) => connection.run(['hold', id, durationMs])
    return { take, hold, pause: (durationMs: number) => connection.run(['pause', durationMs]) }
  }

  test('pauses all processes in an empty Redis, and a shorter pause does not end that pause', async () => {
    const { take, pause } = open(await startRedis(onTestFinished))
    const [answer, quietMs] = await take('a', 2, { isFirst: 1 })
    expect(answer).toBe('unknown')
    expect(quietMs).toBeGreaterThan(80_000)
    await pause(1_000)
    const [again, pausedMs] = await take('a')
    expect(again).toBe('paused')
    expect(pausedMs).toBeGreaterThan(80_000)
    await pause(200_000)
    expect((await take('a'))[1]).toBeGreaterThan(190_000)
  })

  test('ends a hold earlier but never later, and ignores a hold for an unknown request', async () => {
    const redis = await startRedis(onTestFinished)
    const { take, hold } = open(redis)
    await take('a', 2, { isFirst: 1 })
    await endQuiet(redis.call)
    expect([await take('a'), await take('b')]).toEqual([
      ['taken', 0],
      ['taken', 0],
    ])
    const [answer, waitMs] = await take('c')
    expect(answer).toBe('wait')
    expect(waitMs).toBeGreaterThan(50_000)
    await hold('a', 3_600_000)
    await hold('b', 3_600_000)
    expect((await take('c'))[1]).toBeLessThanOrEqual(waitMs)
    await hold('a', 20_000)
    expect((await take('c'))[1]).toBeLessThanOrEqual(20_000)
    await hold('a', 0)
    await hold('unknown', 60_000)
    expect((await take('c'))[0]).toBe('taken')
  })

  test('uses the cap of the process that made its first call last', async () => {
    const redis = await startRedis(onTestFinished)
    const { take, hold } = open(redis)
    await take('a', 1, { isFirst: 1 })
    await endQuiet(redis.call)
    expect((await take('a', 1))[0]).toBe('taken')
    expect((await take('b', 2))[0]).toBe('wait')
    expect((await take('b', 2, { isFirst: 1 }))[0]).toBe('taken')
    expect((await take('c', 1, { isFirst: 1 }))[0]).toBe('wait')
    await hold('a', 0)
    expect((await take('c', 2))[0]).toBe('wait')
  })

  test('knows nothing after any key is gone, and no key expires', async () => {
    const redis = await startRedis(onTestFinished)
    const { take } = open(redis)
    await take('a', 1, { isFirst: 1 })
    const names = (await redis.call('keys', '*')) as string[]
    for (const name of names) {
      expect(await redis.call('pttl', name)).toBe(-1)
      await endQuiet(redis.call)
      expect((await take('b', 1))[0]).toBe('taken')
      await redis.call('del', name)
      const [answer, quietMs] = await take('c', 1)
      expect([answer, quietMs > 80_000]).toEqual(['unknown', true])
    }
  })

  test.each([
    ['with', true],
    ['without', false],
  ] as const)('pauses all processes after a restart of Redis %s an append-only file', async (_, aof) => {
    const redis = await startRedis(onTestFinished, { aof })
    const before = open(redis)
    await before.take('a', 1, { isFirst: 1 })
    await endQuiet(redis.call)
    expect((await before.take('a', 1))[0]).toBe('taken')
    await redis.kill()
    await redis.start()
    const after = open(redis)
    expect((await after.take('b', 1, { isFirst: 1 }))[0]).toBe('unknown')
    expect((await after.take('b', 1))[0], 'unknown claims are reported once').toBe('paused')
  })
})

test.skipIf(lacks('redis-server'))(
  'a Redis that evicts is named, and one that forgets again and again ends the run',
  async ({ onTestFinished }) => {
    const redis = await startRedis(onTestFinished)
    await redis.call('config', 'set', 'maxmemory-policy', 'allkeys-lru')
    await redis.call('config', 'set', 'maxmemory', '100mb')
    await using server = await startServer()
    await using client = startClient(server.baseUrl, { shared: shared(redis.url) })
    const failure = failureOf(client.get())
    const evict = setInterval(() => void redis.call('flushall').catch(() => undefined), 200)
    onTestFinished(() => clearInterval(evict))
    expect(await failure).toMatchObject({ code: 'shared_cap_unreachable', endsRun: true })
    expect((await failure).message).toContain('it lost the record of recent requests 3 times')
    expect(server.arrivals).toHaveLength(0)
    const named = client.lines.filter(({ fields }) => fields.policy === 'allkeys-lru')
    expect(named).toHaveLength(1)
  },
)

test.skipIf(lacks('redis-server'))(
  'the error of a wrong password contains neither the right nor the wrong password',
  async ({ onTestFinished }) => {
    const redis = await startRedis(onTestFinished, { password: 'pa55-word-of-redis' })
    await using server = await startServer()
    await using client = startClient(server.baseUrl, {
      shared: shared(redis.url.replace('pa55-word', 'wr0ng-word')),
    })
    const failure = await failureOf(client.get())
    expect(failure).toMatchObject({ code: 'shared_cap_unreachable' })
    expect(failure.message).toMatch(/cannot be used: .*(WRONGPASS|NOAUTH|invalid)/)
    expect(JSON.stringify([failure.stack, failure.cause, client.lines])).not.toMatch(/pa55|wr0ng/)
  },
)

test.skipIf(lacks('redis-server')).each([null, 5])(
  'a database that Redis does not have is an error at once, with a fallback of %s',
  async (fallback) => {
    const redis = await startRedis(onTestFinished)
    await using server = await startServer()
    await using client = startClient(server.baseUrl, { shared: shared(`${redis.url}/99`, fallback) })
    const failure = await failureOf(client.get())
    expect(failure).toMatchObject({ code: 'shared_cap_unreachable' })
    expect(failure.message).toContain(
      `${redis.url}, cannot be used: it refuses the login or the database in its address, database 99 (ERR DB index is out of range)`,
    )
    expect(await redis.call('dbsize')).toBe(0)
    expect(client.lines).toEqual([])
    expect(server.arrivals).toHaveLength(0)
  },
)
