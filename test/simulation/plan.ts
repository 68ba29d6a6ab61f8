/** The plan of a seed: a world, settings, and a few starts of the process with the faults of each. Plain data can be shrunk. */
import type { PublishFormat } from '../../src/model/publish-formats.js'
import type { SourceChanges, Touch } from '../../src/reference-server/option-texts.js'
import type { DiskPlan, Disturbances, Moment } from './generation.js'
import { type BucketStart, withBucket } from './plan-bucket.js'
import { withMoves } from './plan-moves.js'
import {
  withBrokenEndpoint,
  withOutage,
  withOversized,
  withoutPublish,
  withPlanted,
  withShortLists,
  withShortSources,
  withSmallBudgets,
  withVanishing,
} from './plan-nights.js'
import { CALM, lastStart } from './plan-start.js'
import type { Planted } from './planted.js'
import { createRandom, drawNth, type Random } from './random.js'

export const NETWORK_FAULTS = [
  ...(['refused', 'reset_before', 'reset_after', 'hang', 'truncate', 'garbage'] as const),
  ...(['server_error', 'too_many', 'not_found'] as const),
  ...(['unknown_value', 'missing_field', 'unknown_field', 'wrong_type', 'empty'] as const),
] as const
export type NetworkFault = (typeof NETWORK_FAULTS)[number]

export interface Start extends Disturbances {
  /** Milliseconds since the previous process ended. */
  readonly gapMs: number
  readonly networkSeed: number
  readonly latencyMsMax: number
  /** The probability of each fault for one request. */
  readonly faults: Partial<Readonly<Record<NetworkFault, number>>>
  /** The probability that the world's clock jumps before a request, and how far at most. */
  readonly jumps: { readonly probability: number; readonly hoursMax: number }
  readonly full: boolean
  readonly requestsMax: number | null
  readonly durationMsMax: number | null
  readonly signal: Moment | null
  /** When a copy of the files is taken while the process runs: what a kill at that moment would leave. */
  readonly snapshot: Moment | null
  /** The wall clock jumps by `byMs`, `afterMs` after the start. */
  readonly wallJump: { readonly afterMs: number; readonly byMs: number } | null
  /** Surveys that vanish before this start, by position in the list of all surveys, modulo its length. */
  readonly forget: readonly number[]
  /** How many times sources move before this start. */
  readonly moves: number
  /** The probability that sources of a survey move before a request for a part of it. */
  readonly moving: number
  /** The probability that a survey vanishes between two pages of a listing. */
  readonly vanishing: number
  readonly loseWork: boolean
  /** From this start on the account has its other name in the settings. Its address and identifier stay. */
  readonly renamed: boolean
  /** The list is answered, but addresses below surveys are not: of all surveys, or only of the first requested one. */
  readonly refuse: Refuse | null
  /** The service answers nothing for a while, from the nth request on. */
  readonly outage: Outage | null
  /** The list shows only so many of the oldest surveys, on all of its pages. The others answer, or 404. */
  readonly shortList: ShortList | null
  /** The same for the list of sources of each survey. */
  readonly shortSources: ShortList | null
  readonly clockAhead: { readonly whose: 'ours' | 'server'; readonly byMs: number } | null
  /** Without faults, and so long after the previous start that every rule requires a new reading. */
  readonly isOrdinary: boolean
  readonly bucket: BucketStart | null
  /** What somebody plants in a stored database before this start. */
  readonly planted: Planted | null
}

interface ShortList {
  readonly shown: number
  readonly othersAnswer: boolean
}

export interface Outage {
  readonly fromRequest: number
  readonly forMs: number
  readonly answers: 'refused' | 'server_error' | 'reset_before' | 'garbage'
}

export interface Refuse {
  readonly status: 301 | 401 | 403 | 404 | 418 | 500 | 503
  readonly parts: 'both' | 'sample_sources' | 'fieldwork_progress'
  readonly of: 'all' | 'one'
}

export interface Plan {
  readonly seed: number
  readonly world: {
    readonly seed: number
    readonly surveys: number
    /** The most sources that all surveys together may have, because a full refresh reads each. Larger worlds are skipped. */
    readonly sourcesMax: number
    readonly wanted: WantedSurvey | null
    readonly sourceChanges: SourceChanges
    readonly touch: Touch
    /** Whether all complete surveys get late corrections. */
    readonly isLate: boolean
    /** Whether sources move as `moves.ts` says. */
    readonly isMoved: boolean
    readonly pageSize: number
    readonly rate: { readonly requests: number; readonly perMs: number }
    readonly rateWindow: 'sliding' | 'fixed' | 'sliding-counter'
    readonly retryAfter: 'seconds' | 'date' | 'none'
    /** How many times faster the world's time passes than ours. */
    readonly speed: number
  }
  readonly settings: {
    readonly overlapMs: number
    readonly full_listing_every: number
    readonly recheckSourcesAfterMs: number
    readonly maxAgeMs: number
    readonly contract: 'evolve' | 'freeze'
    readonly requestTimeoutMs: number
    readonly attemptsMax: number
    readonly consecutive_failures_max: number
  }
  readonly skewMs: number
  readonly freshDatabase: boolean
  readonly hasBucket: boolean
  /** The conditions of writes that the store of the bucket ignores. */
  readonly ignored: readonly ('putIfAbsent' | 'putIfMatch')[]
  readonly publish: readonly PublishFormat[]
  readonly starts: readonly Start[]
  /** After its starts every survey is known, whatever their budgets. */
  readonly knowsAll: boolean
  /** Views follow from the tables alone and are slow to query, so only some seeds check them. */
  readonly checksViews: boolean
}

/** What one of the surveys is at the beginning. */
export interface WantedSurvey {
  readonly sourcesMin: number
  readonly statuses: readonly string[]
  /** How long it has had one of them. */
  readonly forMs: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** Separates the random numbers of renames from the first stream. Any number would do. */
const NAMES_SALT = 0x6e616d65

export const drawPlan = (seed: number): Plan => {
  const random = createRandom(seed)
  const nights = withHostileNights(withMoves(drawUsualPlan(seed, random)))
  const drawn = withOversized(withBucket(withOutage(withBrokenEndpoint(nights))))
  return withPlanted(withoutPublish(withShortSources(withShortLists(withVanishing(withSmallBudgets(drawn))))))
}

/** Drawn from a stream of its own, so that existing seeds keep their plans. */
const withHostileNights = (plan: Plan): Plan => {
  const { chance, pick, whole } = createRandom(plan.seed ^ 0x2545f491)
  const last = plan.starts.length - 1
  const isRefused = chance(0.15)
  const refuse: Refuse = {
    status: pick([404, 404, 401, 403]),
    parts: pick(['both', 'both', 'sample_sources', 'fieldwork_progress']),
    of: pick(['all', 'one']),
  }
  const starts = plan.starts.map((start, place) =>
    isRefused && place === last ? { ...start, refuse } : start,
  )
  const clockAhead = { whose: pick(['ours', 'server'] as const), byMs: whole(1, 400) * DAY_MS }
  // A month of our clock is no month of a faster world, so only worlds of normal speed get the wrong clock below.
  const clean = { ...lastStart(plan), full: false }
  if (chance(0.05)) {
    const held = { ...clean, loseWork: true, isHeld: true }
    return { ...plan, publish: ['duckdb', 'parquet'], starts: [...starts, clean, held] }
  }
  if (plan.world.speed !== 1 || !chance(0.12)) return { ...plan, starts }
  const month = { ...clean, gapMs: 31 * DAY_MS, isOrdinary: true }
  // A partial run with a date in the future is not the last one for ever.
  const ahead = { ...clean, clockAhead, requestsMax: chance(0.5) ? 1 : null }
  return { ...plan, publish: ['duckdb', 'parquet'], starts: [...starts, ahead, month] }
}

const drawUsualPlan = (seed: number, random: Random): Plan => {
  const { whole, pick, chance } = random
  const speed = pick([1, 1, 1, 60, 60, 600])
  const rate = { requests: whole(8, 40), perMs: whole(10, 60) * 1_000 }
  // Renames have a stream of their own, so that existing seeds keep their plans.
  const names = createRandom(seed ^ NAMES_SALT)
  return {
    seed,
    world: {
      seed: whole(0, 1_000_000),
      surveys: pick([1, 1, 2, 3]),
      sourcesMax: pick([6, 8, 12]),
      ...{
        wanted: null,
        sourceChanges: 'with-survey',
        touch: 'none',
        isLate: false,
        isMoved: false,
      },
      pageSize: pick([1, 1, 2, 5]),
      rate,
      rateWindow: pick(['sliding', 'sliding', 'fixed', 'sliding-counter']),
      retryAfter: pick(['seconds', 'date', 'none']),
      speed,
    },
    settings: {
      overlapMs: pick([0, MINUTE_MS, 5 * MINUTE_MS]),
      full_listing_every: pick([DAY_MS, 7 * DAY_MS]),
      ...{ recheckSourcesAfterMs: chance(0.7) ? 7 * DAY_MS : 0, maxAgeMs: 30 * DAY_MS },
      contract: chance(0.1) ? 'freeze' : 'evolve',
      requestTimeoutMs: pick([2_000, 10_000, 30_000]),
      attemptsMax: whole(1, 6),
      consecutive_failures_max: whole(1, 5),
    },
    skewMs: chance(0.4) ? whole(-3 * HOUR_MS, 3 * HOUR_MS) : 0,
    freshDatabase: chance(0.02),
    hasBucket: false,
    ignored: [],
    publish: chance(0.05) ? ['duckdb', 'parquet'] : ['duckdb'],
    starts: Array.from({ length: pick([1, 1, 2, 3]) }, () => ({
      ...drawStart(random, speed),
      renamed: names.chance(0.35),
    })),
    ...{ checksViews: chance(0.2), knowsAll: false },
  }
}

const drawStart = (random: Random, speed: number): Start => {
  const { whole, chance, pick } = random
  // The world changes between two pages, without any network fault.
  const isRestless = chance(0.25)
  const wallJump = chance(0.1)
    ? { afterMs: whole(0, MINUTE_MS), byMs: pick([-2 * HOUR_MS, -30_000, 30_000, 2 * HOUR_MS]) }
    : null
  return {
    ...CALM,
    gapMs: chance(0.5) ? whole(0, 90_000) : Math.floor((whole(1, 40) * HOUR_MS + whole(0, HOUR_MS)) / speed),
    networkSeed: whole(0, 1_000_000_000),
    latencyMsMax: pick([5, 300, 2_000]),
    commitMs: pick([0, 100, 300, 300]),
    faults: isRestless ? {} : drawFaults(random),
    jumps: isRestless
      ? { probability: 0.9, hoursMax: 60 }
      : { probability: chance(0.6) ? 0.5 : 0, hoursMax: pick([6, 30, 120]) },
    full: chance(0.15),
    requestsMax: chance(0.25) ? whole(3, 40) : null,
    durationMsMax: chance(0.15) ? whole(5, 120) * 1_000 : null,
    signal: chance(0.15) ? drawMoment(random) : null,
    crash: chance(0.4) ? { at: drawMoment(random), place: pick(['before', 'after', 'torn']) } : null,
    snapshot: chance(0.6) ? drawStep(random) : null,
    disk: chance(0.15) ? drawDisk(random) : null,
    wallJump,
    forget: chance(0.1) ? [whole(0, 100)] : [],
    vanishing: chance(0.25) ? 0.4 : 0,
    loseWork: chance(0.03),
  }
}

const drawFaults = ({ chance, unit, pick, whole }: Random): Start['faults'] => {
  if (chance(0.35)) return {}
  const kinds = Array.from({ length: whole(1, 3) }, () => pick(NETWORK_FAULTS))
  return Object.fromEntries(kinds.map((kind) => [kind, RARE.has(kind) ? 0.02 : 0.02 + unit() * 0.15]))
}

/** Rare because a later run does not always remove their marks. */
const RARE: ReadonlySet<NetworkFault> = new Set(['not_found', 'hang'])

const drawMoment = (random: Random): Moment =>
  random.chance(0.3) ? { afterMs: random.whole(0, 2 * MINUTE_MS) } : drawStep(random)

/** Any step, or one of the turning points, which are so rare that a random step would hardly ever hit them. */
const drawStep = (random: Random): Moment =>
  random.chance(0.5)
    ? { step: Math.floor(1 + random.unit() * random.unit() * STEPS_MAX) }
    : drawNth(random, TURNING_POINTS)

/** Approximate numbers of steps per start: of all, and of operations that change the state. */
const STEPS_MAX = 600
const TURNING_POINTS =
  'COMMIT 30, COMMIT 30, CHECKPOINT 1, rename 1, rename 2, file.sync 3, file.read 6, rm 3, writeSync 60, ' +
  'renameSync 2, database.open 2, database.close 2'

const drawDisk = ({ pick, unit }: Random): DiskPlan => ({
  from: { step: Math.floor(1 + unit() * unit() * STEPS_MAX) },
  operations: pick(DISK_OPERATIONS),
  code: pick(['ENOSPC', 'EIO']),
  times: pick([1, 1, 3, 1_000]),
})

const DISK_OPERATIONS = [
  ...[['COMMIT'], ['CHECKPOINT'], ['writeSync'], ['file.writeFile'], ['file.sync'], ['rename']],
  ...[['renameSync', 'openSync'], ['file.writeFile', 'writeFile'], ['rm']],
  ['COMMIT', 'CHECKPOINT', 'writeSync', 'file.sync', 'file.writeFile', 'writeFile'],
]

export const publishOf = ({ publish }: Plan, { bucket }: Start): readonly PublishFormat[] =>
  bucket?.isWithoutDelta === true ? publish.filter((format) => format !== 'delta') : publish
