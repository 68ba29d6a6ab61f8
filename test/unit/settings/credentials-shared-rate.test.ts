/** A cap that is shared through Redis: its settings, and that no message contains its credentials. */
import { describe, expect, test } from 'vitest'
import { createRedactor } from '../../../src/base/secret.js'
import { secretsOf } from '../../../src/settings/settings.js'
import { ACCOUNT, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const PASSWORD = 'pass/word-of-redis'
const withRate = (lines: string) => `${ACCOUNT}    rate_limit:\n${lines}`
const sharedOf = async (lines: string, env: Record<string, string> = {}) =>
  (await load({ yaml: withRate(lines), env })).accounts[0]?.shared

test.each([
  ['shared: redis://redis', null],
  ['shared: redis://redis\n      shared_fallback: stop', null],
  ['shared: redis://redis\n      shared_fallback: 50%', 30],
  ['shared: redis://redis\n      shared_fallback: 20', 20],
  ['shared: redis://redis\n      requests: 90\n      shared_fallback: 33%', 29],
])('%j gives a fallback of %s', async (lines, fallback) => {
  const shared = await sharedOf(`      ${lines}\n`)
  expect(shared?.fallback).toBe(fallback)
  expect(shared?.url.reveal()).toBe('redis://redis')
})

test('the address may come from the environment; only its credentials are secrets, both encoded and decoded', async () => {
  const credentials = `user:${encodeURIComponent(PASSWORD)}@`
  const url = `rediss://${credentials}redis.example:6380/2`
  const settings = await load({ yaml: withRate(`      shared: \${REDIS_URL}\n`), env: { REDIS_URL: url } })
  expect(JSON.stringify(settings)).not.toContain('word-of-redis')
  expect(secretsOf(settings).map((secret) => secret.reveal())).toEqual(
    expect.arrayContaining([credentials, PASSWORD, encodeURIComponent(PASSWORD)]),
  )
  const redact = createRedactor(secretsOf(settings))
  expect(redact(`${url}, rediss://redis.example:6380`)).toBe(
    'rediss://[redacted]redis.example:6380/2, rediss://redis.example:6380',
  )
})

test.each([
  ['redis://127.0.0.1:1', 'redis://127.0.0.1:1'],
  ['redis://user@127.0.0.1:1/3', 'redis://user@127.0.0.1:1/3'],
  // The password is too short to be redacted everywhere, so it is redacted only as a password in the URL.
  ['redis://:ab@redis/1', 'redis://[redacted]redis/1'],
  ['redis://us:p ss@redis', 'redis://[redacted]redis'],
])('the address %s prints as %s', async (url, printed) => {
  const settings = await load({ yaml: withRate(`      shared: "${url}"\n`) })
  const redact = createRedactor(secretsOf(settings))
  expect(redact(url)).toBe(printed)
  expect(redact('the tab of a cap')).toBe('the tab of a cap')
})

describe('a wrong value is refused without a quote of it', () => {
  const MUST_BE =
    'must be the URL of a Redis, such as redis://redis:6379 or rediss://user:password@host:6380/0'
  const FALLBACK = 'must be stop, a percentage of the cap such as 50%, or a number of requests such as 20'
  test.each(
    Object.entries({
      [`shared: ${PASSWORD}`]: `shared ${MUST_BE}`,
      [`shared: https://user:${encodeURIComponent(PASSWORD)}@redis`]: `shared ${MUST_BE}`,
      'shared: redis://': `shared ${MUST_BE}`,
      'shared: redis://redis/name': `shared ${MUST_BE}`,
      'shared: redis://:50%@redis': `shared ${MUST_BE}`,
      [`shared: redis://redis?password=${encodeURIComponent(PASSWORD)}`]: `shared ${MUST_BE}`,
      'shared: 6379': `shared ${MUST_BE}`,
      'shared: 6379\n      shared_fallback: 20': `shared ${MUST_BE}`,
      'shared_fallback: go': `shared_fallback ${FALLBACK}`,
      'shared_fallback: 0%': `shared_fallback ${FALLBACK}`,
      'shared_fallback: 101%': `shared_fallback ${FALLBACK}`,
      'shared_fallback: 0': `shared_fallback ${FALLBACK}`,
      'shared_fallback: 1.5': `shared_fallback ${FALLBACK}`,
      'shared: redis://redis\n      requests: 60\n      shared_fallback: 61':
        'shared_fallback is more than the cap of 60 requests; give at most 60',
      'shared: redis://redis\n      requests: 10\n      shared_fallback: 9%':
        'shared_fallback is less than one request of the cap of 10; give a higher percentage, or stop',
      'shared_fallback: 20':
        'shared_fallback needs a shared cap, but rate_limit.shared is not set; set it to a Redis, or remove shared_fallback',
    }),
  )('%s', async (lines, problem) => {
    const [reported, ...more] = await problemsOf({ yaml: withRate(`      ${lines}\n`) })
    expect(more).toEqual([])
    expect(reported).toMatch(/^settings\.yaml:\d+: accounts\[0\]\.rate_limit\./)
    expect(reported?.endsWith(problem)).toBe(true)
    expect(reported?.replace('user:password@', '')).not.toContain('word')
  })
})
