/**
 * Late corrections: some complete surveys have a few complete interviews rejected afterwards. Nothing shows it but the counts of the survey
 * and of the source, which stay equal to each other.
 */
import { MICROS_PER_HOUR, MICROS_PER_SECOND, type Micros } from '../time.js'
import { PURPOSES, Random } from './random.js'
import type { SampleSource } from './sample-sources.js'
import { type Change, statusOf, type WorldPlan } from './timeline.js'

/** `at`, the complete interview of the source that lies `along` (0 to 1) its complete ones is rejected. */
export interface LateCorrection {
  readonly slot: number
  readonly at: Micros
  readonly along: number
  /** It no longer counts at all, or shows as failed_quality_check. */
  readonly isIgnored: boolean
}

const CORRECTIONS_MAX = 3
const HOURS_PER_DAY = 24

/** The corrections of survey `index`, after it is complete for the last time. Their delays are log-uniform, from an hour on. */
export const drawLateCorrections = (
  plan: WorldPlan,
  index: number,
  changes: readonly Change[],
  sources: readonly SampleSource[],
): LateCorrection[] => {
  const { share, days } = plan.lateCorrections ?? { share: 0, days: 0 }
  const completeAt = changes.findLast(({ code }) => statusOf(code) === 'complete')?.at
  const staying = sources.filter(({ removedAt }) => removedAt === null)
  if (share === 0 || completeAt === undefined || staying.length === 0) return []
  const random = new Random(plan, index, PURPOSES.lateCorrections)
  if (!random.chance(share)) return []
  return Array.from({ length: 1 + random.below(CORRECTIONS_MAX) }, () => {
    const delay = MICROS_PER_HOUR * (HOURS_PER_DAY * days) ** random.fraction()
    return {
      slot: random.pick(staying).slot,
      at: Math.ceil((completeAt + delay) / MICROS_PER_SECOND) * MICROS_PER_SECOND,
      along: random.fraction(),
      isIgnored: random.chance(0.5),
    }
  })
}
