/** The habits of a survey's interviews: how they end, how long they take, how its quotas close. */
import { INTERVIEW_STATUSES } from '../resources/fieldwork-progress.js'
import type { WorldPlan } from './creation.js'
import { PURPOSES, Random } from './random.js'

export interface InterviewHabits {
  /** Cumulative probability of each status, for interviews that no quota rejects: IGNORED is last, at 1. */
  readonly cumulative: readonly number[]
  /** Probability of `complete`. */
  readonly completeProbability: number
  /** Length of a complete interview, seconds. */
  readonly typicalSeconds: number
  /** How likely a quota rejects an interview that would be complete, when the target is nearly reached. */
  readonly quotaPressure: number
  readonly softLaunch: boolean
}

/** Draws the habits of survey `index`. */
export const deriveHabits = (plan: WorldPlan, index: number): InterviewHabits => {
  const random = new Random(plan, index, PURPOSES.statusMix)
  const rare = (most: number): number => (random.chance(0.3) ? 0 : most * random.fraction())
  const weights = INTERVIEW_STATUSES.map((status) => {
    if (status === 'complete') return random.between(0.35, 0.8)
    if (status === 'incomplete') return random.between(0.02, 0.15)
    if (status === 'screen_out') return random.between(0.03, 0.3)
    if (QUOTA_STATUSES.some((other) => other === status)) return 0
    return rare(0.04)
  })
  const ignored = random.between(0, 0.05)
  const total = weights.reduce((sum, weight) => sum + weight, ignored)
  let sum = 0
  const cumulative = [...weights, ignored].map((weight) => {
    sum += weight / total
    return sum
  })
  return {
    cumulative,
    completeProbability: (weights[INTERVIEW_STATUSES.indexOf('complete')] ?? 0) / total,
    typicalSeconds: random.between(150, 1_500),
    quotaPressure: random.between(0.1, 0.7),
    softLaunch: random.chance(0.3),
  }
}

/** Only quotas give an interview these statuses. */
const QUOTA_STATUSES = ['quota_full', 'above_target'] as const
