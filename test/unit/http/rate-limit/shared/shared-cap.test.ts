/** Several processes keep one cap together. These tests also cover runs whose Redis is away or unusable. */
import { expect, test } from 'vitest'
import { systemClock } from '../../../../../src/base/clock.js'
import { Secret } from '../../../../../src/base/secret.js'
import {
  checkSharedCap,
  claimLifeMs,
  createLocalFallback,
} from '../../../../../src/http/rate-limit/shared/shared-cap.js'
import { failureOf, startClient, startServer } from '../../server-and-client.js'

const shared = (url: string, fallback: number | null = null) => ({ url: new Secret(url), fallback })

test('a claim lasts for a window, a margin, two request timeouts and twice the skew of a clock', () => {
  expect(claimLifeMs({ perMs: 60_000, requestTimeoutMs: 30_000 })).toBe(60_000 + 50 + 3_000 + 60_000 + 2_000)
})

test('the fallback limits requests in any window like the cap, and a request under way keeps its slot', () => {
  let nowMs = 0
  const clock = { ...systemClock, monotonicMs: () => nowMs }
  const fallback = createLocalFallback(2, clock)
  const [first, second] = [fallback.take(), fallback.take()]
  if (typeof first === 'number' || typeof second === 'number') throw new Error('there was room for two')
  expect(fallback.take()).toBe(100)
  first.hold(1_000)
  nowMs = 400
  expect(fallback.take()).toBe(600)
  nowMs = 1_000
  expect(typeof fallback.take()).toBe('object')
  expect(fallback.take()).toBe(100)
  second.hold(0)
  expect(typeof fallback.take()).toBe('object')
})

test.each([
  [null, /'acme', redis:\/\/127\.0\.0\.1:1, cannot be used: connection refused; nothing is sent/],
  [
    5,
    /^redis:\/\/127\.0\.0\.1:1 cannot be used: connection refused; .* its fallback of 5 requests per window$/,
  ],
])(
  'a check of an unreachable Redis with a fallback of %s says what a run would do',
  async (fallback, message) => {
    const owner = { baseUrl: 'https://api.example.com', id: 1 }
    const one = { account: 'acme', owner, shared: shared('redis://127.0.0.1:1', fallback) }
    await expect(checkSharedCap(one)).rejects.toMatchObject({
      code: 'shared_cap_unreachable',
      message: expect.stringMatching(message),
    })
  },
)

test('an unreachable Redis ends the run at once with its address, and nothing is sent', async () => {
  await using server = await startServer()
  await using client = startClient(server.baseUrl, {
    shared: shared('redis://user:pa55-word-of-redis@127.0.0.1:1/0'),
  })
  const [failure] = await Promise.all([client.get(), client.get()].map(failureOf))
  expect(failure).toMatchObject({ code: 'shared_cap_unreachable', exitCode: 4, endsRun: true })
  expect(failure?.message).toBe(
    "the Redis that shares the cap of account 'default', redis://127.0.0.1:1, cannot be used: connection refused; nothing is sent " +
      'without it: check that Redis runs and that rate_limit.shared is correct, or set rate_limit.shared_fallback to the number of requests per window that this process may send without Redis',
  )
  expect(server.arrivals).toHaveLength(0)
})
