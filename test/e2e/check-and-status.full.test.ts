import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { NO_ACCOUNT, scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import { openTrial, stderrShows } from '../support/command/trial.js'
import { startRedis } from '../support/servers/redis.js'
import { lacks } from '../support/suite/lacks.js'

describe('check', () => {
  test.skipIf(lacks('redis-server'))(
    'says whether the Redis of a shared cap may evict its record',
    async (context) => {
      const redis = await startRedis(context.onTestFinished)
      const trial = await openTrial(context, [scriptedSurvey(1)])
      const file = await trial.settings({
        accounts: [
          {
            ...{ name: 'north', base_url: trial.api.baseUrl, id: 4711, token: TOKEN },
            rate_limit: { shared: redis.url, requests: 60, per: '1s' },
          },
        ],
        limits: { request_timeout: '1s' },
      })
      const first = trial.start(['check', ...file], NO_ACCOUNT)
      await stderrShows(first, /Redis has no record of recent requests/)
      const [record] = z.array(z.string()).parse(await redis.call('keys', '*'))
      await redis.call('zrem', String(record), 'pause')
      const address = redis.url
      const row = (ok: boolean, detail: string) => ({ what: 'shared cap of north', ok, detail })
      const api = expect.objectContaining({ what: 'API of north', ok: true })
      expect(await first.ended).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(
          `ok      shared cap of north  ${address} keeps its record: its maxmemory-policy is noeviction\n`,
        ),
      })
      const check = async () => {
        const { code, stdout } = await trial.runWarm(['check', '--json', ...file], NO_ACCOUNT)
        return [code, JSON.parse(stdout).checks.slice(2)]
      }
      await redis.call('config', 'set', 'maxmemory-policy', 'allkeys-lru')
      const unlimited = `${address} keeps its record: its maxmemory-policy is allkeys-lru, but it has no maxmemory`
      expect(await check()).toEqual([0, [row(true, unlimited), api]])
      await redis.call('config', 'set', 'maxmemory', '100mb')
      const evicts = `${address} may evict the record of recent requests, and then all processes pause: its maxmemory-policy is allkeys-lru; set it to noeviction`
      expect(await check()).toEqual([2, [row(false, evicts), api]])
      // Only keys with an expiration, and the record has none.
      await redis.call('config', 'set', 'maxmemory-policy', 'volatile-lru')
      const kept = `${address} keeps its record: its maxmemory-policy is volatile-lru`
      expect(await check()).toEqual([0, [row(true, kept), api]])
      const requests = trial.api.arrivals.length
      await redis.kill()
      const away = row(
        false,
        expect.stringContaining(`${address}, cannot be used: connection refused; nothing`),
      )
      expect(await check()).toEqual([4, [away]])
      expect(trial.api.arrivals).toHaveLength(requests)
    },
  )
})
