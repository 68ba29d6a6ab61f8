/**
 * The ids of the world, integers without a limit by the API document: some accounts have small ids, the ids of the first account's surveys
 * cross 2^31, and others are far beyond. The index of a record follows from its id, so a look-up needs no table.
 */
import { PURPOSES, Random } from './random.js'
import type { WorldPlan } from './timeline.js'

/** An account. `id` is its Authorization-ID, `token` its Authorization-Token (API document, "Authentication"). */
export interface AccountIdentity {
  readonly name: string
  readonly id: number
  readonly token: string
  readonly organizationId: number
}

/** The most sources that a survey has, including removed ones. */
const SOURCES_MAX = 64

const SURVEY_ID_STEP = 7
const ACCOUNT_ID_SPAN = 2 ** 36

/** The account with index `account`, from 0: `default`, then `account-2`, `account-3`… */
export const accountIdentity = (seed: number, account: number): AccountIdentity => {
  const random = new Random({ seed, account }, 0, PURPOSES.account)
  const far = account % 3 === 2 ? 2 ** 33 : 0
  return {
    name: account === 0 ? 'default' : `account-${account + 1}`,
    id: far + 1_000 + account * 1_000_000 + random.below(900_000),
    token: random.text(40, '0123456789abcdef'),
    organizationId: far + 10 + account * 100_000 + random.below(90_000),
  }
}

/** The id of survey `index`; grows with `index`. */
export const surveyId = (plan: WorldPlan, index: number): number => {
  const random = new Random(plan, index, PURPOSES.account, 1)
  return firstSurveyId(plan) + index * SURVEY_ID_STEP + random.below(SURVEY_ID_STEP)
}

/** The index of the survey with this id; null if there is none at any time. */
export const surveyIndexOf = (plan: WorldPlan, id: number): number | null => {
  const index = Math.floor((id - firstSurveyId(plan)) / SURVEY_ID_STEP)
  return index >= 0 && surveyId(plan, index) === id ? index : null
}

/** The id of the source in `slot` of survey `index`. */
export const sampleSourceId = (plan: WorldPlan, index: number, slot: number): number =>
  firstOf(plan, 2 ** 31 - 100) + index * SOURCES_MAX + slot

const firstSurveyId = (plan: WorldPlan): number =>
  firstOf(plan, 2 ** 31 - Math.floor(plan.surveys / 2) * SURVEY_ID_STEP)

const firstOf = (plan: WorldPlan, acrossLimit: number): number => {
  const kind = plan.account % 3
  const start = kind === 0 ? acrossLimit : kind === 1 ? 5_000 : 2 ** 42
  return start + Math.floor(plan.account / 3) * ACCOUNT_ID_SPAN
}
