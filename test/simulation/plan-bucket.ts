/** What a seed draws for a warehouse in a bucket: the machine of each start, and the faults of the store. */
import type { Moment } from './generation.js'
import type { Plan, Start } from './plan.js'
import { createRandom, drawNth, type Random } from './random.js'

/**
 * `unreachable`: nothing happens, as after five answers 503. `refused`: 403. `lost_answer`: it happens, and the client gets an error.
 * `repeated`: the client repeats a request whose answer was lost. `late`: the client gives up, and the request happens after that.
 * `silent`: no answer until the client gives up. `slow`: the answer takes seconds.
 */
export const STORE_FAULTS = [
  ...(['unreachable', 'refused', 'lost_answer', 'repeated', 'late', 'silent', 'slow'] as const),
]
type StoreFault = (typeof STORE_FAULTS)[number]

/** A start of a run whose warehouse is a bucket. */
export interface BucketStart {
  /** Each machine has a local directory of its own, which lasts over its starts. */
  readonly machine: number
  /** The machine's directory is empty again, as that of a new pod. */
  readonly isEmptied: boolean
  /** How far the machine's wall clock is ahead of the clock that the plan names. */
  readonly skewMs: number
  readonly seed: number
  readonly latencyMsMax: number
  readonly faults: Partial<Readonly<Record<StoreFault, number>>>
  readonly outage: { readonly from: Moment; readonly forMs: number; readonly fault: StoreFault } | null
  readonly rival: Moment | null
  /** `delta` is switched off for this start. */
  readonly isWithoutDelta: boolean
  /** What somebody deletes before this start, in order not to wait. */
  readonly lost: 'lease.json' | 'ledger/' | null
}

type InBucket = Start & { readonly bucket: BucketStart }

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** Separate these random numbers from the first stream. Any numbers would do. */
const BUCKET_SALT = 0x6275636b
const SILENCE_SALT = 0x73696c74
const DELTA_SALT = 0x64656c74
const LOSS_SALT = 0x6c6f7373
const MACHINES = 3

/** One seed in three has a bucket. */
export const withBucket = (plan: Plan): Plan => {
  const random = createRandom(plan.seed ^ BUCKET_SALT)
  const { chance, whole, pick } = random
  if (!chance(1 / 3)) return plan
  const silences = createRandom(plan.seed ^ SILENCE_SALT)
  const deltas = createRandom(plan.seed ^ DELTA_SALT)
  const losses = createRandom(plan.seed ^ LOSS_SALT)
  const isSlow = chance(0.25)
  const rate = isSlow ? { requests: whole(2, 4), perMs: MINUTE_MS } : plan.world.rate
  const skews = Array.from({ length: MACHINES }, () => (chance(0.3) ? whole(-3 * HOUR_MS, 3 * HOUR_MS) : 0))
  // A file that another process has open exists only in a directory.
  const usual = plan.starts.filter(({ isHeld }) => !isHeld)
  const more = chance(0.5) ? usual.filter(({ isOrdinary }) => !isOrdinary).slice(0, 1) : []
  const starts = [...more, ...usual].map((start) => {
    const machine = whole(0, MACHINES - 1)
    const drawn = drawBucketStart(random, start, { machine, skewMs: skews[machine] ?? 0 })
    return isSlow && !start.isOrdinary ? withRival(random, drawn) : drawn
  })
  return {
    ...plan,
    hasBucket: true,
    ignored: losses.chance(0.08) ? losses.pick(STORES_WITHOUT_CONDITIONS) : [],
    freshDatabase: chance(0.1),
    world: { ...plan.world, rate },
    publish: pick([
      ...Array<Plan['publish']>(5).fill(['duckdb']),
      ['duckdb', 'parquet', 'delta'],
      ['duckdb', 'parquet'],
      ['duckdb', 'parquet', 'delta', 'ducklake'],
    ]),
    starts: starts
      .map((start) => (silences.chance(0.08) ? withSilence(silences, start) : start))
      .map((start) => withDeltaOff(deltas, start))
      // A low cap is soon used up, so that what is lost matters.
      .map((start) => (losses.chance(isSlow ? 0.5 : 0.15) ? withLoss(losses, start) : start)),
  }
}

export const STORES_WITHOUT_CONDITIONS = [
  ['putIfMatch'],
  ['putIfAbsent'],
  ['putIfAbsent', 'putIfMatch'],
] as const

/** Somebody deletes what makes the next run wait, and starts it at once, on a machine that knows nothing. */
const withLoss = (random: Random, start: InBucket): InBucket => {
  const lost = random.pick(['lease.json', 'ledger/'] as const)
  const gapMs = random.whole(0, 20_000)
  return start.isOrdinary ? start : { ...start, gapMs, bucket: { ...start.bucket, lost, isEmptied: true } }
}

/** A signal, from which on the store does not answer: the run must end in time all the same. */
const withSilence = (random: Random, start: InBucket): InBucket => {
  const operation = random.pick(LAST_STORE_STEPS)
  const signal = random.chance(0.5) ? { operation, nth: random.whole(1, 2) } : drawStoreMoment(random)
  if (start.isOrdinary) return start
  const outage = { from: signal, forMs: 3 * MINUTE_MS, fault: 'silent' } as const
  return { ...start, crash: null, signal, bucket: { ...start.bucket, outage } }
}

const withDeltaOff = (random: Random, start: InBucket): InBucket => ({
  ...start,
  bucket: { ...start.bucket, isWithoutDelta: random.chance(0.3) },
})

/** A slow run is active for long enough to refuse another one. */
const withRival = (random: Random, start: InBucket): InBucket =>
  random.chance(0.4) ? { ...start, bucket: { ...start.bucket, rival: drawMoment(random) } } : start

const drawBucketStart = (
  random: Random,
  start: Start,
  machine: Pick<BucketStart, 'machine' | 'skewMs'>,
): InBucket => {
  const { chance, whole, pick } = random
  const isCalm = start.isOrdinary || chance(0.4)
  const atStore = <Value extends object>(value: Value | null, change: (at: Moment) => Value): Value | null =>
    value !== null && !start.isOrdinary && chance(0.5) ? change(drawStoreMoment(random)) : value
  const signal = atStore(start.signal, (at) => at)
  const crash = atStore(start.crash, (at) => ({ at, place: pick(['before', 'after'] as const) }))
  const bucket: BucketStart = {
    ...LAST_BUCKET_START,
    ...machine,
    isEmptied: chance(0.5),
    seed: whole(0, 1_000_000_000),
    latencyMsMax: pick([5, 50, 300]),
    faults: isCalm ? {} : drawStoreFaults(random),
    outage: !isCalm && chance(0.25) ? drawOutage(random, signal) : null,
  }
  return {
    ...start,
    bucket,
    crash,
    signal,
    snapshot: atStore(start.snapshot, (at) => at),
    // A pod that was killed is soon started again.
    gapMs: !start.isOrdinary && chance(0.5) ? whole(0, 2 * MINUTE_MS) : start.gapMs,
  }
}

/** A signal matters most when the store has just stopped answering. */
const drawOutage = (random: Random, signal: Moment | null): BucketStart['outage'] => {
  const { chance, whole, pick } = random
  const moment = drawMoment(random)
  return {
    from: signal !== null && chance(0.7) ? signal : moment,
    forMs: whole(5_000, 3 * MINUTE_MS),
    fault: pick(['unreachable', 'refused', 'silent']),
  }
}

const drawStoreFaults = ({ chance, unit, pick, whole }: Random): BucketStart['faults'] => {
  const kinds = Array.from({ length: whole(1, 3) }, () => pick(STORE_FAULTS))
  const most = chance(0.3) ? 0.2 : 0.05
  return Object.fromEntries(kinds.map((kind) => [kind, unit() * most]))
}

const drawMoment = (random: Random): Moment =>
  random.chance(0.5) ? drawStoreMoment(random) : { afterMs: random.whole(0, 3 * MINUTE_MS) }

const drawStoreMoment = (random: Random): Moment => {
  const { operation, nth } = drawNth(random, STORE_STEPS)
  return { operation: `store.${operation}`, nth }
}

const STORE_STEPS =
  'get lease.json 4, putIfAbsent lease.json 1, putIfMatch lease.json 6, get current.json 1, putIfMatch current.json 2, ' +
  'putIfMatch current.json 2, putIfAbsent duckdb 1, putIfAbsent versions 1, putIfAbsent data 8, putIfAbsent snapshots 1, ' +
  'getToFile duckdb 1, get ledger 2, putIfMatch ledger 1, list data 2, delete 1'

/** The requests with which a run hands its request ledgers on. */
const LAST_STORE_STEPS = ['store.get ledger', 'store.putIfAbsent ledger', 'store.putIfMatch ledger'] as const

/** A machine that was never used, without faults of the store. */
export const LAST_BUCKET_START: BucketStart = {
  ...{ machine: MACHINES, isEmptied: true, skewMs: 0, seed: 1, latencyMsMax: 5, faults: {} },
  ...{ outage: null, rival: null, isWithoutDelta: false, lost: null },
}
