import { expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { envOf, paceOf } from '../support/oracle/rate.js'

const CAP = 20
const WINDOW_MS = 3_000
const RATE = `${CAP}/${WINDOW_MS}ms`
const UNSET = NO_ACCOUNT

const startServer = () =>
  startWorld({ surveys: 60, rateLimit: { requests: CAP, perMs: WINDOW_MS }, rateWindow: 'sliding' })

/** Settings with the same account of the server under several names. */
const settingsWithNames = (
  trial: Trial,
  server: Awaited<ReturnType<typeof startServer>>,
  baseUrls: readonly string[],
) => {
  const [account] = server.accounts
  return trial.settings({
    accounts: baseUrls.map((base_url, index) => ({
      name: `name-${index}`,
      base_url,
      id: account?.id,
      token: account?.token,
      rate_limit: { requests: CAP, per: `${WINDOW_MS}ms` },
    })),
  })
}

const ONE_BURST = ['sync', '--json', '--max-requests', String(CAP)]

const expectCapKept = async (server: Awaited<ReturnType<typeof startServer>>, runs: number) => {
  const pace = await paceOf(server)
  // The requests must not fit into one window, or the test would prove nothing.
  expect(pace.requests).toBeGreaterThan((runs - 1) * CAP)
  expect(pace.refused).toBe(0)
  expect(pace.mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)
}

test.concurrent('two names that are read one after the other with --accounts share the cap', async (context) => {
  const trial = await openTrial(context)
  await using server = await startServer()
  // The second address is written differently, but means the same server.
  const file = await settingsWithNames(trial, server, [
    server.baseUrl,
    server.baseUrl.replace('//127.0.0.1', '//127.1'),
  ])
  const both = await trial.runWarm([...ONE_BURST, ...file], UNSET)
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('or choose one with --accounts') })
  for (const name of ['name-0', 'name-1']) {
    expect(await trial.runWarm([...ONE_BURST, '--accounts', name, ...file], UNSET)).toMatchObject({
      code: 3,
    })
  }
  await expectCapKept(server, 2)
})

// test/unit/base/cap-owner shows that both have one owner of the cap.
test.concurrent('a run from the environment and one from a settings file share the cap', async (context) => {
  const trial = await openTrial(context)
  await using server = await startServer()
  const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: RATE }
  expect(await trial.runWarm(ONE_BURST, env)).toMatchObject({ code: 3 })
  const file = await settingsWithNames(trial, server, [server.baseUrl])
  expect(await trial.runWarm([...ONE_BURST, ...file], UNSET)).toMatchObject({ code: 3 })
  await expectCapKept(server, 2)
})
