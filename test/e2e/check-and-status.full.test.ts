import stringWidth from 'string-width'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { NO_ACCOUNT, refusing, scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import { openSynced, openTrial, stderrShows } from '../support/command/trial.js'
import { startRedis } from '../support/servers/redis.js'
import { lacks } from '../support/suite/lacks.js'
import { accountOf } from './check-and-status-shared.js'

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

describe('status', () => {
  test.concurrent('names the process that holds the warehouse, as a second sync does, without disturbing it, and names none after a kill', async (context) => {
    const trial = await openSynced(context, [scriptedSurvey(1)])
    trial.api.hook = () => true
    const arrived = trial.api.arrived(() => true)
    const { child, ended } = trial.start(['sync'])
    await arrived
    const requests = trial.api.arrivals.length
    const second = await trial.runWarm(['sync', '--json'])
    expect(second.code).toBe(6)
    expect(second.stderr).toContain(`is held by "fieldwork-sync sync", process ${child.pid} on `)
    expect(JSON.parse(second.stdout)).toMatchObject({ error: { code: 'warehouse_is_held', exit_code: 6 } })
    const check = await trial.runWarm(['check', '--json'])
    expect(check.code).toBe(6)
    expect(JSON.parse(check.stdout)).toMatchObject({
      exit_code: 6,
      checks: [{}, { what: 'warehouse', ok: false }],
    })
    const held = await trial.runWarm(['status', '--json'])
    expect(held.code).toBe(0)
    expect(JSON.parse(held.stdout)).toMatchObject({
      holder: expect.stringMatching(`"fieldwork-sync sync", process ${child.pid} on `),
      runs: [{ status: 'complete' }],
    })
    expect(trial.api.arrivals).toHaveLength(requests)
    child.kill('SIGKILL')
    await ended
    const killed = await trial.runWarm(['status', '--json'])
    expect(killed.code).toBe(0)
    expect(JSON.parse(killed.stdout)).toMatchObject({ holder: null, runs: [{ status: 'complete' }] })
  })

  test.concurrent('fits 80 columns, whatever the titles are; the end of a title stays, and only a terminal gets colours', async (context) => {
    const trial = await openTrial(context, [
      scriptedSurvey(1, { title: `${'お客様アンケート'.repeat(30)}\u001b[31m wave 12` }),
      scriptedSurvey(2, { title: 12, mood: 'x'.repeat(200) }),
      scriptedSurvey(3, { status: 'arch\u001b[31mived' }),
    ])
    trial.api.hook = refusing(trial.api, 422, ({ path }) => path.startsWith('/surveys/1/'))
    const account = accountOf(trial.api)
    const accounts = ['a'.repeat(64), 'b'].map(account)
    const file = await trial.settings({ accounts })
    expect(await trial.runWarm(['sync', ...file], NO_ACCOUNT)).toMatchObject({ code: 5 })
    for (const [says, ...line] of [
      [' wave 12', 'status'],
      [' wave 12', 'status', '--survey', '1'],
      ['in quarantine: title', 'status', '--survey', 'b/2'],
      ['a survey in arch [31mived', 'status', '--survey', 'b/3'],
    ] as const) {
      const { code, stdout } = await trial.runWarm([...line, ...file], NO_ACCOUNT)
      expect(code).toBe(0)
      expect(stdout).not.toContain('\u001b')
      const words = stdout.split('\n').filter((text) => !text.startsWith('/'))
      expect(words.filter((text) => stringWidth(text) > 80)).toEqual([])
      expect(stdout).toContain(says)
    }
  })
})
