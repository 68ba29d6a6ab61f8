/** The plan of a seed: a world, settings, and a few starts of the process with the faults of each. Plain data can be shrunk. */
import type { PublishFormat } from '../../src/model/publish-formats.js'
import type { SourceChanges, Touch } from '../../src/reference-server/option-texts.js'
import { type DiskPlan, type Disturbances, type Moment, UNDISTURBED } from './generation.js'
import { type BucketStart, LAST_BUCKET_START, withBucket } from './plan-bucket.js'
import { withMoves } from './plan-moves.js'
import { PLANTED, type Planted } from './planted.js'
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

interface Outage {
  readonly fromRequest: number
  readonly forMs: number
  readonly answers: 'refused' | 'server_error' | 'reset_before' | 'garbage'
}

/** `limits.patience` of the runs. */
export const PATIENCE_MS = 15 * 60_000

interface Refuse {
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
    readonly settleForMs: number
    readonly skip_unchanged: boolean
    readonly recheckUnchangedAfterMs: number
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
const ENDPOINT_SALT = 0x656e6470
const OUTAGE_SALT = 0x6f757461
const OVERSIZED_SALT = 0x6c617267
const BUDGET_SALT = 0x62756467
const LIST_SALT = 0x6c697374
const PUBLISH_SALT = 0x7075626c
const PLANT_SALT = 0x706c616e
const SOURCES_SALT = 0x736f7572

export const drawPlan = (seed: number): Plan => {
  const random = createRandom(seed)
  const nights = withHostileNights(withMoves(drawUsualPlan(seed, random)))
  const drawn = withOversized(withBucket(withOutage(withBrokenEndpoint(nights))))
  return withPlanted(withoutPublish(withShortSources(withShortLists(withSmallBudgets(drawn)))))
}

/** Healthy nights, before some of which somebody plants objects in a stored database. From a stream of its own. */
const withPlanted = (drawn: Plan): Plan => {
  const { chance, pick, whole } = createRandom(drawn.seed ^ PLANT_SALT)
  if (!chance(0.05)) return drawn
  const plan: Plan = { ...drawn, hasBucket: false, ignored: [], publish: ['duckdb'], knowsAll: false }
  const healthy = { ...lastStart(plan), full: chance(0.3) }
  const nights = Array.from({ length: whole(1, 3) }, () => ({ ...healthy, planted: pick(PLANTED) }))
  return {
    ...plan,
    checksViews: true,
    world: { ...plan.world, isMoved: false },
    starts: [healthy, ...nights],
  }
}

/** One night more, in which the disk or the bucket fails from the publish on, so that the run cannot publish. From a stream of its own. */
const withoutPublish = (plan: Plan): Plan => {
  const { chance, pick, whole } = createRandom(plan.seed ^ PUBLISH_SALT)
  if (!chance(0.12) || plan.ignored.length > 0 || plan.knowsAll) return plan
  const night = lastStart(plan)
  const crash = { at: { operation: 'CHECKPOINT', nth: 1 }, place: pick(['before', 'after'] as const) }
  const isKilled = chance(0.25)
  const disk: DiskPlan = { from: { operation: 'CHECKPOINT', nth: 1 }, ...pick(DISKS), times: 1_000 }
  const outage = {
    from: { operation: 'store.putIfAbsent duckdb', nth: 1 },
    // The store may answer again when the run records its end.
    forMs: pick([1, whole(1_000, 60_000), 20 * MINUTE_MS]),
    fault: pick(['refused', 'unreachable'] as const),
  }
  const failing: Start = {
    ...night,
    requestsMax: chance(0.3) ? whole(3, 12) : null,
    crash: isKilled ? crash : null,
    disk: isKilled || night.bucket !== null ? null : disk,
    bucket: night.bucket && { ...night.bucket, outage: isKilled ? null : outage },
  }
  return { ...plan, starts: [...plan.starts, failing] }
}

/** A full disk still takes what is written in place of old content. One that is read-only takes nothing. */
const DISKS = [
  { operations: ['file.writeFile', 'writeFile'], code: 'ENOSPC' },
  { operations: ['CHECKPOINT', 'COMMIT', 'file.writeFile', 'writeFile'], code: 'ENOSPC' },
  { operations: ['chmod'], code: 'EIO' },
  {
    operations: [
      'CHECKPOINT',
      'COMMIT',
      'file.writeFile',
      'writeFile',
      'file.write',
      'rename',
      'rm',
      'chmod',
    ],
    code: 'EROFS',
  },
] as const

/** A night with an outage and no other fault, after at most two usual ones. From a stream of its own. */
const withOutage = (plan: Plan): Plan => {
  const { chance, pick, whole } = createRandom(plan.seed ^ OUTAGE_SALT)
  if (!chance(0.06)) return plan
  const outage: Outage = {
    fromRequest: pick([1, whole(2, 20)]),
    forMs: pick([45_000, whole(60, 720) * 1_000, 2 * PATIENCE_MS]),
    answers: pick(['refused', 'server_error', 'reset_before', 'garbage']),
  }
  const night: Start = { ...lastStart(plan), outage }
  return { ...plan, starts: [...plan.starts.slice(0, whole(0, 2)), night] }
}

/**
 * A survey with more sources than most nights have requests, beside small ones that are due in every night too. Budgets leave requests
 * for some of them. Often all are known before, so that the large one may come first by its urgency. Some nights in a row are healthy, and
 * later ones may be ended from outside. From a stream of its own too.
 */
const withOversized = (plan: Plan): Plan => {
  const random = createRandom(plan.seed ^ OVERSIZED_SALT)
  const { chance, pick, whole } = random
  if (!chance(0.1)) return plan
  const healthy = (): Start => ({
    ...CALM,
    full: false,
    gapMs: DAY_MS + whole(0, HOUR_MS),
    networkSeed: whole(0, 1_000_000_000),
    requestsMax: whole(6, 10),
  })
  const crash = () => ({ at: { operation: 'COMMIT', nth: whole(4, 16) }, place: 'after' }) as const
  const night = (): Start => ({
    ...healthy(),
    ...(chance(0.2) && { requestsMax: null }),
    crash: chance(0.5) ? crash() : null,
    signal: chance(0.3) ? drawNth(random, 'COMMIT 16') : null,
  })
  const nights = (least: number, most: number, one: () => Start) =>
    Array.from({ length: whole(least, most) }, one)
  const first = chance(0.7) ? { ...healthy(), requestsMax: null } : night()
  const wanted = { sourcesMin: 6, statuses: ['fieldwork', 'pending'], forMs: 0 }
  return {
    ...plan,
    ...{ hasBucket: false, ignored: [], publish: ['duckdb'], checksViews: false },
    world: { ...plan.world, surveys: 6, sourcesMax: 18, wanted, pageSize: pick([2, 5]), speed: 1 },
    settings: { ...plan.settings, contract: 'evolve', full_listing_every: 7 * DAY_MS },
    starts: [first, ...nights(2, 3, healthy), ...nights(0, 2, night), healthy()],
  }
}

/** More surveys than may fail by themselves, and an endpoint that refuses all of them, or fails for all. From a stream of its own too. */
const withBrokenEndpoint = (plan: Plan): Plan => {
  const { chance, pick, whole } = createRandom(plan.seed ^ ENDPOINT_SALT)
  if (!chance(0.08)) return plan
  const healthy = lastStart(plan)
  const refuse: Refuse = {
    status: pick([301, 401, 403, 404, 418, 500, 503]),
    parts: pick(['sample_sources', 'fieldwork_progress']),
    of: 'all',
  }
  const broken = { ...healthy, refuse }
  // The refusals of a night that ends before its verdict, or at its budget, stay.
  const crash = { at: { operation: 'COMMIT', nth: whole(5, 9) }, place: 'after' } as const
  const stopped = { ...broken, requestsMax: whole(12, 24) }
  const earlier: readonly Start[] = pick([[], [{ ...broken, crash }], [stopped, stopped], [stopped, stopped]])
  return {
    ...plan,
    world: { ...plan.world, surveys: 7, sourcesMax: 20 },
    starts: [...(chance(0.5) ? [healthy] : []), ...earlier, broken],
  }
}

/** A list that shrinks for a night or two. From a stream of its own too. */
const withShortLists = (drawn: Plan): Plan => {
  const { chance, whole } = createRandom(drawn.seed ^ LIST_SALT)
  if (!chance(0.04)) return drawn
  const plan: Plan = { ...drawn, hasBucket: false, ignored: [], publish: ['duckdb'], knowsAll: false }
  const healthy = lastStart(plan)
  const othersAnswer = chance(0.5)
  const shortened = { ...healthy, shortList: { shown: whole(0, 3), othersAnswer } }
  return {
    ...plan,
    world: {
      ...plan.world,
      surveys: 14,
      sourcesMax: 60,
      pageSize: 5,
      speed: 1,
      isMoved: false,
      wanted: null,
    },
    starts: [healthy, shortened, ...(othersAnswer ? [{ ...shortened, full: false }] : [])],
  }
}

/**
 * Lists of sources that shrink for a night or two. Many that vanish at once and are not found need a survey with many sources. From a
 * stream of its own.
 */
const withShortSources = (drawn: Plan): Plan => {
  const { chance, whole } = createRandom(drawn.seed ^ SOURCES_SALT)
  if (!chance(0.05)) return drawn
  const plan: Plan = { ...drawn, hasBucket: false, ignored: [], publish: ['duckdb'], knowsAll: false }
  const healthy = lastStart(plan)
  const othersAnswer = chance(0.6)
  const shortened = { ...healthy, shortSources: { shown: whole(0, 3), othersAnswer } }
  const [sourcesMin, sourcesMax] = othersAnswer ? [4, 12] : [50, 70]
  return {
    ...plan,
    world: {
      ...plan.world,
      ...{ surveys: 2, sourcesMax, pageSize: 5, speed: 1, isMoved: false },
      wanted: { sourcesMin, statuses: ['fieldwork', 'deviating_from_specs'], forMs: 0 },
    },
    starts: [healthy, shortened, ...(othersAnswer ? [{ ...shortened, full: false }] : [])],
  }
}

/** Nights of 24 h and some seconds more or less, whose budgets are below the number of pages. From a stream of its own too. */
const withSmallBudgets = (drawn: Plan): Plan => {
  const { chance, pick, whole } = createRandom(drawn.seed ^ BUDGET_SALT)
  if (!chance(0.06)) return drawn
  const plan: Plan = { ...drawn, hasBucket: false, ignored: [], publish: ['duckdb'] }
  const surveys = whole(4, 6)
  const night = (): Start => ({
    ...lastStart(plan),
    gapMs: DAY_MS + whole(-60, 90) * 1_000,
    full: false,
    requestsMax: whole(1, surveys - 1),
    forget: chance(0.1) ? [whole(0, 100)] : [],
  })
  return {
    ...plan,
    world: { ...plan.world, surveys, sourcesMax: 12, pageSize: 1, speed: 1, isMoved: false, wanted: null },
    settings: { ...plan.settings, overlapMs: pick([0, 5 * MINUTE_MS]), full_listing_every: 7 * DAY_MS },
    // Each night reads at least one further page, and surveys are created meanwhile.
    starts: Array.from({ length: surveys + 3 }, night),
    knowsAll: true,
  }
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
      settleForMs: pick([DAY_MS, 7 * DAY_MS]),
      skip_unchanged: chance(0.7),
      ...{ recheckUnchangedAfterMs: 7 * DAY_MS, maxAgeMs: 30 * DAY_MS },
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

/** A start without faults. */
const CALM: Omit<Start, 'gapMs'> = {
  ...UNDISTURBED,
  commitMs: 300,
  ...{ networkSeed: 1, latencyMsMax: 5, faults: {}, refuse: null, outage: null },
  ...{ jumps: { probability: 0, hoursMax: 1 }, wallJump: null, clockAhead: null },
  ...{ shortList: null, shortSources: null },
  ...{ full: true, requestsMax: null, durationMsMax: null, signal: null, snapshot: null },
  ...{
    forget: [],
    moves: 0,
    moving: 0,
    vanishing: 0,
    loseWork: false,
    renamed: false,
    isOrdinary: false,
    bucket: null,
    planted: null,
  },
}

/** A last start without faults, after every earlier request has left every rate window. */
export const lastStart = ({ seed, hasBucket, world: { speed, rate } }: Plan): Start => ({
  ...CALM,
  gapMs: Math.max(DAY_MS / speed, 2 * rate.perMs + MINUTE_MS),
  bucket: hasBucket ? { ...LAST_BUCKET_START, isWithoutDelta: seed % 2 === 0 } : null,
})
