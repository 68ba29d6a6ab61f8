/** What a seed draws for surveys whose sources move in ways that hide: nights of one client, with little else that disturbs them. */
import type { Plan, Start } from './plan.js'
import { createRandom, type Random } from './random.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Separates these random numbers from the first stream. Any number would do. */
const MOVES_SALT = 0x6e696768

/** One seed in four. Its nights take the place of the usual starts, or the seeds would take longer. */
export const withMoves = (plan: Plan): Plan => {
  const random = createRandom(plan.seed ^ MOVES_SALT)
  const { chance, pick, whole } = random
  if (!chance(0.25)) return plan
  const nights = whole(3, 4)
  const usual = plan.starts.slice(0, nights)
  // Closed surveys that rest for a day at most, or surveys that are read in each run.
  const isClosed = chance(0.3)
  // In a faster world, or after a long time, all sources in fieldwork have moved.
  const speed = isClosed ? 1 : pick([1, 1, 1, 60])
  const gapMs = isClosed ? DAY_MS : pick([HOUR_MS, HOUR_MS, HOUR_MS, 5 * HOUR_MS, DAY_MS]) / speed
  return {
    ...plan,
    world: {
      ...plan.world,
      ...{ surveys: pick([1, 1, 2]), sourcesMax: 10, speed },
      wanted: isClosed
        ? { sourcesMin: 1, statuses: ['complete'], forMs: 4 * DAY_MS }
        : { sourcesMin: whole(3, 5), statuses: pick([QUIET, QUIET, QUIET, ['fieldwork']]), forMs: 0 },
      sourceChanges: pick(['with-survey', 'free']),
      touch: pick(['none', 'none', 'interviews', 'sources', 'both']),
      isLate: chance(0.5),
      isMoved: chance(0.8),
    },
    settings: {
      ...plan.settings,
      contract: 'evolve',
      ...(isClosed && { maxAgeMs: DAY_MS }),
      recheckSourcesAfterMs: pick([7 * DAY_MS, 7 * DAY_MS, 2 * DAY_MS]),
    },
    // What is published follows from the tables alone.
    ...{ publish: ['duckdb'], checksViews: chance(0.05) },
    starts: Array.from({ length: nights }, (_, place) =>
      night(random, usual[place % usual.length], {
        gapMs,
        calm: isClosed ? 1 : 0.75,
      }),
    ),
  }
}

/** Each run reads them, and hardly anybody answers them. */
const QUIET = ['pending', 'deviating_from_specs', 'data_processing']

/** `usual` lends its faults to some nights. */
const night = (
  random: Random,
  usual: Start | undefined,
  { gapMs, calm }: { readonly gapMs: number; readonly calm: number },
): Start => {
  if (usual === undefined) throw new Error('a plan has at least one start')
  const { chance, pick, whole } = random
  const isCalm = chance(calm)
  const undisturbed = {
    faults: {},
    crash: null,
    disk: null,
    signal: null,
    requestsMax: null,
    durationMsMax: null,
  }
  return {
    ...usual,
    ...(isCalm ? undisturbed : {}),
    ...{ gapMs: Math.max(90_000, Math.floor(gapMs)), networkSeed: whole(0, 1_000_000_000) },
    ...{ jumps: { probability: 0, hoursMax: 1 }, wallJump: null, snapshot: null },
    ...{ full: false, vanishing: 0, loseWork: false },
    moves: pick([1, 1, 1, 2]),
    moving: chance(0.2) ? 0.1 : 0,
  }
}
