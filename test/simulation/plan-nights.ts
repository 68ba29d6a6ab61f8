/** Nights that differ from the usual ones as a whole: the kinds of which a seed has at most a few. Each draws from a stream of its own. */
import type { DiskPlan } from './generation.js'
import type { Outage, Plan, Refuse, Start } from './plan.js'
import { CALM, lastStart } from './plan-start.js'
import { PLANTED } from './planted.js'
import { createRandom, drawNth } from './random.js'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** `limits.patience` of the runs. */
export const PATIENCE_MS = 15 * MINUTE_MS
/** Separate these random numbers from the first stream. Any numbers would do. */
const ENDPOINT_SALT = 0x656e6470
const OUTAGE_SALT = 0x6f757461
const OVERSIZED_SALT = 0x6c617267
const BUDGET_SALT = 0x62756467
const LIST_SALT = 0x6c697374
const PUBLISH_SALT = 0x7075626c
const PLANT_SALT = 0x706c616e
const SOURCES_SALT = 0x736f7572
const VANISHING_SALT = 0x76616e69

/** Healthy nights, before some of which somebody plants objects in a stored database. */
export const withPlanted = (drawn: Plan): Plan => {
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

/** One night more, in which the disk or the bucket fails from the publish on, so that the run cannot publish. */
export const withoutPublish = (plan: Plan): Plan => {
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

/** A night with an outage and no other fault, after at most two usual ones. */
export const withOutage = (plan: Plan): Plan => {
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
 * later ones may be ended from outside.
 */
export const withOversized = (plan: Plan): Plan => {
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

/** More surveys than may fail by themselves, and an endpoint that refuses all of them, or fails for all. */
export const withBrokenEndpoint = (plan: Plan): Plan => {
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

/** Surveys vanish while a listing of several pages is read. The rows after them move up, so that a page may skip one. */
export const withVanishing = (drawn: Plan): Plan => {
  const { chance, pick, whole } = createRandom(drawn.seed ^ VANISHING_SALT)
  if (!chance(0.05)) return drawn
  const plan: Plan = { ...drawn, hasBucket: false, ignored: [], publish: ['duckdb'], knowsAll: false }
  const vanishing = { ...lastStart(plan), vanishing: 0.3 }
  return {
    ...plan,
    world: {
      ...plan.world,
      ...{ surveys: whole(4, 6), sourcesMax: 24, pageSize: pick([1, 2]), speed: 1 },
      ...{ isMoved: false, wanted: null },
    },
    starts: [vanishing, ...Array.from({ length: whole(0, 1) }, () => ({ ...vanishing, full: false }))],
  }
}

/** A list that shrinks for a night or two. */
export const withShortLists = (drawn: Plan): Plan => {
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
 * Lists of sources that shrink for a night or two. Many that vanish at once and are not found need a survey with many sources.
 */
export const withShortSources = (drawn: Plan): Plan => {
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

/** Nights of 24 h and some seconds more or less, whose budgets are below the number of pages. */
export const withSmallBudgets = (drawn: Plan): Plan => {
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
