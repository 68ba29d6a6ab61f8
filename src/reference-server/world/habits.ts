/** How the interviews of a survey tend to go: what becomes of them, how long they take, how its quotas close. */
import { INTERVIEW_STATUSES } from '../resources/fieldwork-progress.js'
import type { WorldPlan } from './creation.js'
import { PURPOSES, Random } from './random.js'

export interface InterviewHabits {
  /** Share of each status among the interviews that no quota turns away, summed up: IGNORED last, at 1. */
  readonly shares: readonly number[]
  /** The part of `complete` alone. */
  readonly completeShare: number
  /** What a complete interview takes, seconds. */
  readonly typicalSeconds: number
  /** How many of those who would complete find their part of the quota full, as the whole target is about to be. */
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
  const shares = [...weights, ignored].map((weight) => {
    sum += weight / total
    return sum
  })
  return {
    shares,
    completeShare: (weights[INTERVIEW_STATUSES.indexOf('complete')] ?? 0) / total,
    typicalSeconds: random.between(150, 1_500),
    quotaPressure: random.between(0.1, 0.7),
    softLaunch: random.chance(0.3),
  }
}

/** What quotas alone make of an interview. */
const QUOTA_STATUSES = ['quota_full', 'above_target'] as const
