/**
 * Every single interview of a source: when it started, how long it took, how it ended. They are derived when
 * somebody asks, source by source, in half a microsecond each, and kept in flat arrays sorted by start.
 */
import { INTERVIEW_STATUSES } from '../resources/enumerations.js'
import { MICROS_PER_SECOND, type Micros } from '../time/iso-time.js'
import type { WorldPlan } from './creation.js'
import { lengthOf, type Window } from './open-windows.js'
import { PURPOSES, Random } from './random.js'

/** The i-th interview has the i-th entry of each array. */
export interface Interviews {
  /** Start, microseconds since the epoch, on whole seconds, ascending. */
  readonly starts: Float64Array
  /** Duration, whole seconds. */
  readonly durations: Uint16Array
  /** Status from start + duration on: its place in INTERVIEW_STATUSES, or IGNORED. */
  readonly statuses: Uint8Array
}

/** "A further status, Ignored, exists and is omitted" (API document, "Interview status"). */
export const IGNORED = INTERVIEW_STATUSES.length
export const INCOMPLETE = INTERVIEW_STATUSES.indexOf('incomplete')
export const COMPLETE = INTERVIEW_STATUSES.indexOf('complete')

/** At most so many interviews a source. */
const INTERVIEWS_MAX = 20_000
const SECONDS_MAX = 14_400

/** How the interviews of one survey tend to go. */
export interface InterviewHabits {
  /** Probability of each status, IGNORED last. */
  readonly weights: readonly number[]
  /** What a complete interview takes, seconds. */
  readonly typicalSeconds: number
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
    return rare(status === 'quota_full' ? 0.15 : 0.04)
  })
  return {
    weights: [...weights, random.between(0, 0.05)],
    typicalSeconds: random.between(150, 1_500),
    softLaunch: random.chance(0.3),
  }
}

/** The interviews that the source in `slot` of survey `index` ever gets, spread over the source's open windows. */
export const deriveInterviews = (
  plan: WorldPlan,
  index: number,
  slot: number,
  sampleSize: number,
  windows: readonly Window[],
  habits: InterviewHabits,
): Interviews => {
  const random = new Random(plan, index, PURPOSES.interviews, slot)
  const open = lengthOf(windows)
  const completeShare =
    (habits.weights[COMPLETE] ?? 1) / habits.weights.reduce((sum, weight) => sum + weight, 0)
  const wanted = Math.round((sampleSize * random.between(0.7, 1.12)) / completeShare)
  const count = open === 0 ? 0 : Math.min(INTERVIEWS_MAX, wanted)
  const starts = new Float64Array(count)
  const durations = new Uint16Array(count)
  const statuses = new Uint8Array(count)
  let window = 0
  let before = 0
  for (let place = 0; place < count; place++) {
    const along = ((place + random.fraction()) / count) * open
    let current = windows[window]
    while (current !== undefined && along - before >= current.to - current.from) {
      before += current.to - current.from
      window += 1
      current = windows[window]
    }
    const start = current === undefined ? (windows.at(-1)?.to ?? 0) : current.from + (along - before)
    const status = random.weighted(habits.weights)
    starts[place] = Math.floor(start / MICROS_PER_SECOND) * MICROS_PER_SECOND
    statuses[place] = status
    durations[place] = drawSeconds(random, status, habits.typicalSeconds)
  }
  return { starts, durations, statuses }
}

/** When the interview at `place` ends and gets its final status. */
export const endOfInterview = (interviews: Interviews, place: number): Micros =>
  (interviews.starts[place] ?? 0) + (interviews.durations[place] ?? 0) * MICROS_PER_SECOND

const drawSeconds = (random: Random, status: number, typicalSeconds: number): number => {
  const spread = random.fraction() + random.fraction() + random.fraction()
  const name = INTERVIEW_STATUSES[status]
  const share =
    name === 'screen_out' || name === 'quota_full'
      ? 0.15
      : name === 'incomplete'
        ? 0.5
        : name === 'speeder'
          ? 0.3
          : 1
  return Math.min(SECONDS_MAX, Math.max(5, Math.round(typicalSeconds * share * 0.45 * 1.71 ** spread)))
}
