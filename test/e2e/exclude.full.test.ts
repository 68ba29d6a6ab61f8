/** `accounts[].exclude` keeps surveys from being read. They are listed, nothing says that they are wrong, and they come back whole. */
import { expect, test } from 'vitest'
import { NO_ACCOUNT } from '../support/api/scripted-api.js'
import { at, openNights, RULES } from './exclude-shared.js'

test('a rule saves what plan says, against the same night without it', async (context) => {
  const [nights, twin] = [await openNights(context), await openNights(context)]
  for (const { trial, first } of [nights, twin]) expect(await at(trial, 0, first)).toMatchObject({ code: 0 })
  const { trial } = nights
  const run = (...args: readonly string[]) => trial.runWarm(args, NO_ACCOUNT)
  const rules = await nights.settings(RULES)
  expect((await run('plan', ...rules)).stdout).toContain('excluded: 3 surveys, which would take 6 requests')
  const plan = JSON.parse((await run('plan', '--json', ...rules)).stdout).accounts[0]
  expect(plan.excluded).toEqual({
    surveys: 3,
    requests: { sample_sources: 1, survey_progress: 3, sample_source_progress: 2 },
  })
  const ended = await at(trial, 0.5, rules)
  const without = await at(twin.trial, 0.5, await twin.settings({}))
  expect(without.run.requests - ended.run.requests).toBe(6)
  expect(
    await trial.rows(`SELECT sum(saved)::INTEGER AS saved FROM _sync.requests
      WHERE reason = 'excluded' AND run_id = '${ended.run.run_id}'`),
  ).toEqual([{ saved: 6 }])
  expect(await run('status', '--check', '--max-age', '30d', ...rules)).toMatchObject({ code: 0 })
  expect((await run('status', ...rules)).stdout).toMatch(/freshness\n.*excluded\n.* 3\n/)
})
