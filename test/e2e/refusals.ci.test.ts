/** The API answers 404 for single surveys while it answers the list of surveys. */
import { describe, expect, test } from 'vitest'
import { type Hook, refusing } from '../support/api/scripted-api.js'
import { gate, night, openTrial } from '../support/command/trial.js'
import { ids, missingIds, refreshed } from './refusals-shared.js'

const OWN = /^\/surveys\/\d+\//

/** Holds the first answers about single surveys until so many requests wait: all of them are under way when the run ends. */
const togetherOnce = (requests: number, hook: Hook): Hook => {
  const all = gate<void>()
  let waiting = 0
  return async (arrival, response) => {
    if (!OWN.test(arrival.path)) return false
    waiting += 1
    if (waiting === requests) all.open()
    await all.opened
    return hook(arrival, response)
  }
}

describe('a 404 of a listed survey', () => {
  test.concurrent('for every survey ends the run with 4 and marks no survey as missing; the next night reads all of them', async (context) => {
    const trial = await openTrial(context, ids(8))
    expect(await night(trial, 0)).toMatchObject({ code: 0 })
    const refused = await night(
      trial,
      1,
      togetherOnce(
        8,
        refusing(trial.api, 404, ({ path }) => OWN.test(path)),
      ),
    )
    expect(refused).toMatchObject({ code: 4, run: { status: 'failed', exit_code: 4, surveys_failed: 8 } })
    expect(refused.run.reason).toMatch(
      /the API refused all 8 requested surveys, .*\(404\).* check whether the service, or a proxy, lacks these addresses/,
    )
    expect(await missingIds(trial)).toEqual([])
    // Of each survey its list and its progress, and nothing else.
    expect(trial.api.arrivals.length).toBeLessThanOrEqual(1 + 2 * 8)
    const after = await night(trial, 2)
    expect(after).toMatchObject({ code: 0, run: { listing: 'full', surveys_refreshed: 8, left_over: 0 } })
    expect(await refreshed(trial)).toEqual(
      Array.from({ length: 8 }, (_, index) => ({ id: index + 1, on_day: '2026-03-03', fine: true })),
    )
  })
})
