/** Compares the requests of a plan with those of the run that follows, in the default world of the reference server. */

import { expect, test } from 'vitest'
import { accountsOf, startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { openWorld } from '../support/oracle/truth.js'

const NIGHTS = 5

test('from the second night on, a plan is right within a tenth, and the run record has estimate and requests', async (context) => {
  const trial = await openTrial(context)
  await using server = await startWorld()
  const world = openWorld(server)
  const args = await trial.settings(accountsOf(server))
  const nights: { expected: number | null; made: number }[] = []
  for (let night = 1; night <= NIGHTS; night += 1) {
    const planned = await trial.run(['plan', '--json', ...args], NO_ACCOUNT)
    const plan: { accounts: { requests: number | null }[] } = JSON.parse(planned.stdout)
    const ended = await trial.sync(args, NO_ACCOUNT)
    expect(ended).toMatchObject({ code: 0 })
    nights.push({ expected: plan.accounts[0]?.requests ?? null, made: ended.run.requests })
    await world.advance('P1D')
  }
  const comparison = nights.map(({ expected, made }) => `${expected} of ${made}`).join(', ')
  expect(nights[0]?.expected).toBeNull()
  for (const { expected, made } of nights.slice(1)) {
    expect(Math.abs(Number(expected) - made) / made, comparison).toBeLessThanOrEqual(0.1)
  }
  expect(
    await trial.rows(
      'SELECT requests_estimated AS expected, requests AS made FROM _sync.runs ORDER BY started_at',
    ),
  ).toEqual(nights)
  console.info(`expected requests of those made, night by night: ${comparison}`)
})
