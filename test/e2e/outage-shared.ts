/** What `outage.ci.test.ts` and its full companion share. */
import { type Arrival, refusing, scriptedSurveys } from '../support/api/scripted-api.js'
import type { Trial } from '../support/command/trial.js'

export const surveys = () => scriptedSurveys(20, {}, 1)

export const FAST = { attempts: 2, backoff_base: '1ms', backoff_max: '2ms' }

/** All requests from the first one that matches on are refused, so many of them. */
export const outage = (
  trial: Trial,
  requests: number,
  begins: (arrival: Arrival) => boolean,
  status = 503,
) => {
  let left = requests
  let hasBegun = false
  return refusing(trial.api, status, (arrival) => {
    hasBegun ||= begins(arrival)
    if (!hasBegun || left === 0) return false
    left -= 1
    return true
  })
}
