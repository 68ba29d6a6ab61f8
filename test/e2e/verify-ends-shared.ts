/** What `verify-ends.ci.test.ts` and its full companion share. */

import { scriptedSurveys } from '../support/api/scripted-api.js'
import type { Trial } from '../support/command/trial.js'

export const verifyJson = async (trial: Trial, args: readonly string[] = [], env = {}) => {
  const ended = await trial.runWarm(['verify', '--json', ...args], env)
  return { ...ended, json: JSON.parse(ended.stdout) }
}

export const surveys = () => scriptedSurveys(3, {}, 1)
