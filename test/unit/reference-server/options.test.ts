import { describe, expect, test } from 'vitest'
import { ExpectedError } from '../../../src/base/errors.js'
import { readOptions } from '../../../src/reference-server/options.js'
import { startReferenceServer } from '../../../src/reference-server/server.js'

const problemsOf = (given: Record<string, unknown>): string[] => {
  try {
    readOptions(given)
  } catch (error) {
    if (error instanceof ExpectedError && error.code === 'reference_server_options')
      return error.message.split('\n')
    throw error
  }
  return []
}

describe('options of the reference server', () => {
  test('have their documented defaults', () => {
    expect(readOptions({})).toEqual({
      port: 8080,
      host: '127.0.0.1',
      seed: 42,
      surveys: 200,
      accounts: 1,
      pageSize: 50,
      rateLimit: { requests: 60, perMs: 60_000 },
      rateWindow: 'sliding',
      ratePhase: 0,
      foreignLoad: 0,
      retryAfter: 'seconds',
      emptyRates: 'null',
      sourceChanges: 'with-survey',
      touch: 'none',
      lateCorrections: { label: 'none', share: 0, days: 0 },
      badSources: 0,
      titles: 'odd',
      startAt: Date.parse('2026-03-01T00:00:00Z') * 1000,
      clock: { label: 'real', factor: 1 },
      faults: null,
    })
  })

  test('mean the same as text and as values', () => {
    const text = readOptions({
      port: '0',
      rateLimit: '5/300ms',
      clock: '600x',
      startAt: '2026-03-01T05:30:00+05:30',
    })
    const values = readOptions({ port: 0, rateLimit: { requests: 5, perMs: 300 }, clock: '600x' })
    expect(text).toEqual(values)
    expect(text.clock.factor).toBe(600)
    expect(readOptions({ rateLimit: '100/1m' }).rateLimit.perMs).toBe(60_000)
    expect(readOptions({ rateLimit: '100/2h' }).rateLimit.perMs).toBe(7_200_000)
  })

  test.each([
    [
      { port: 'http' },
      '--port is "http": give the port to listen on (0: any free one), a whole number from 0 to 65535.',
    ],
    [{ port: 70_000 }, '--port is 70000:'],
    [{ port: '' }, '--port is "":'],
    [{ port: ['1', '2'] }, '--port is ["1","2"]:'],
    [{ host: '' }, '--host is "":'],
    [{ seed: '-1' }, '--seed is "-1":'],
    [{ seed: 0.5 }, '--seed is 0.5:'],
    [{ surveys: '2000000' }, '--surveys is "2000000":'],
    [{ accounts: 0 }, '--accounts is 0:'],
    [{ pageSize: '0' }, '--page-size is "0":'],
    [{ ratePhase: '2d' }, '--rate-phase is "2d": give a time of at most a day, such as 15s.'],
    [{ foreignLoad: '60' }, '--foreign-load is "60": give requests per window, a whole number below'],
    [{ retryAfter: 'never' }, '--retry-after is "never": give one of seconds, date, none.'],
    [{ emptyRates: 'NaN' }, '--empty-rates is "NaN": give one of null, zero, omit.'],
    [{ sourceChanges: 'any' }, '--source-changes is "any": give one of with-survey, free.'],
    [{ touch: 'all' }, '--touch is "all": give one of none, interviews, sources, both.'],
    [
      { lateCorrections: '25%' },
      '--late-corrections is "25%": give none, or how many of the complete surveys and a delay of at most 1000 days, such as 25%/90d.',
    ],
    [{ lateCorrections: '0%/90d' }, '--late-corrections is "0%/90d":'],
    [{ lateCorrections: '101%/90d' }, '--late-corrections is "101%/90d":'],
    [{ lateCorrections: '5%/1001d' }, '--late-corrections is "5%/1001d":'],
    [
      { badSources: '101' },
      '--bad-sources is "101": give the percent of sources, a whole number from 0 to 100.',
    ],
    [{ rateLimit: '60' }, '--rate-limit is "60": give requests per time, such as 60/60s or 5/300ms.'],
    [{ rateLimit: '0/60s' }, '--rate-limit is "0/60s":'],
    [{ rateLimit: { requests: 1, perMs: 0 } }, '--rate-limit is {"requests":1,"perMs":0}:'],
    [
      { rateWindow: 'rolling' },
      '--rate-window is "rolling": give one of sliding, fixed, sliding-counter, none.',
    ],
    [{ startAt: '2026-03-01' }, '--start-at is "2026-03-01":'],
    [{ startAt: '1999-03-01T00:00:00Z' }, '--start-at is "1999-03-01T00:00:00Z":'],
    [{ clock: 'fast' }, '--clock is "fast": give real, frozen, or a factor up to 1000000x, such as 600x.'],
    [{ faults: '' }, '--faults is "": give the path of a YAML or JSON file.'],
    [{ faults: 7 }, '--faults is 7:'],
    [{ clock: '0x' }, '--clock is "0x":'],
  ])('a wrong option gets one line that says what, where and what to do: %j', (given, line) => {
    const problems = problemsOf(given)
    expect(problems.length).toBe(1)
    expect(problems[0]!.startsWith(line)).toBe(true)
    expect(problems[0]!).toMatch(/: give .*\.$/)
  })

  test('one error names all wrong options and leads to exit code 2', async () => {
    expect(problemsOf({ port: 'x', seed: 'y', clock: 'z' }).length).toBe(3)
    await expect(startReferenceServer({ port: -1 })).rejects.toMatchObject({ exitCode: 2 })
  })

  test('a port in use and an address of another machine get one clear line each, exit code 2', async () => {
    await using server = await startReferenceServer({ port: 0, surveys: 1 })
    const port = Number(new URL(server.origin).port)
    await expect(startReferenceServer({ port, surveys: 1 })).rejects.toMatchObject({
      exitCode: 2,
      message: `--host 127.0.0.1 --port ${port}: the port is in use; stop what uses it, or give another --port (0 takes any free one).`,
    })
    await expect(startReferenceServer({ port: 0, host: '192.0.2.1', surveys: 1 })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('this machine has no such address'),
    })
  })
})
