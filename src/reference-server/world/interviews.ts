/** The fieldwork of one survey over all time: its sources, and their interviews, derived on demand in flat arrays sorted by start. */
import { INTERVIEW_STATUSES, type InterviewStatus } from '../resources.js'
import { MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_SECOND, type Micros } from '../time.js'
import { type FieldWindow, openTime, openWindows } from './arrival.js'
import { PURPOSES, Random } from './random.js'
import { deriveSampleSources, type SampleSource } from './sample-sources.js'
import { type Change, statusOf, type WorldPlan } from './timeline.js'

/** A source with its interviews, which are derived when they are first needed. */
export interface FieldSource extends SampleSource {
  interviews(): Interviews
}

/** The i-th interview has the i-th entry of each array. */
export interface Interviews {
  /** Start, microseconds since the epoch, on whole seconds, ascending. */
  readonly starts: Float64Array
  readonly durations: Uint16Array
  /** How long it is pending_analysis after its end, whole minutes; 0 for most. */
  readonly analysisMinutes: Uint16Array
  /** Status after that: an index of INTERVIEW_STATUSES, or IGNORED. */
  readonly statuses: Uint8Array
  /** The interview with this index has another status from `at` on. */
  readonly corrections: readonly {
    readonly interview: number
    readonly at: Micros
    readonly status: number
  }[]
}

/** The status Ignored shows in no answer (API document, "Interview status"). */
export const IGNORED = INTERVIEW_STATUSES.length
const codeOf = (status: InterviewStatus): number => INTERVIEW_STATUSES.indexOf(status)
export const INCOMPLETE = codeOf('incomplete')
export const COMPLETE = codeOf('complete')
const PENDING_ANALYSIS = codeOf('pending_analysis')
const QUOTA_FULL = codeOf('quota_full')
const ABOVE_TARGET = codeOf('above_target')
const FAILED_QUALITY_CHECK = codeOf('failed_quality_check')
const BAD_INTERVIEW_STATUSES = [codeOf('speeder'), codeOf('straightliner'), FAILED_QUALITY_CHECK]

const INTERVIEWS_MAX = 20_000
/** How many of the complete interviews of a bad source are rejected, at least and at most. */
const BAD_PART = [0.15, 0.3] as const
const SECONDS_MAX = 14_400
const ANALYSIS_DAYS_MAX = 4
const MICROS_PER_MINUTE = 60 * MICROS_PER_SECOND

/** Only quotas give an interview these statuses. */
const QUOTA_STATUSES = ['quota_full', 'above_target'] as const

/** The sources of survey `index`, oldest first. `changes` are the survey's own, the first of them its creation. */
export const deriveField = (
  plan: WorldPlan,
  index: number,
  changes: readonly Change[],
): readonly FieldSource[] => {
  const habits = deriveHabits(plan, index)
  const windows = openWindows(changes, habits.softLaunch)
  const sources = deriveSampleSources(plan, index, changes, windows)
  const corrections = drawLateCorrections(plan, index, changes, sources)
  return sources.map((source) => {
    const own = corrections.filter(({ slot }) => slot === source.slot)
    let known: Interviews | null = null
    const interviews = () => {
      known ??= corrected(deriveInterviews(plan, index, source, windows, habits), own)
      return known
    }
    return { ...source, interviews }
  })
}

/** The status of an interview, by its index, at or after its start: an index of INTERVIEW_STATUSES, or IGNORED. */
export const statusAt = (interviews: Interviews, interview: number, at: Micros): number => {
  const final = interviews.statuses[interview] ?? IGNORED
  if (final === IGNORED) return IGNORED
  for (const correction of interviews.corrections)
    if (correction.interview === interview && correction.at <= at) return correction.status
  const end = (interviews.starts[interview] ?? 0) + (interviews.durations[interview] ?? 0) * MICROS_PER_SECOND
  if (end > at) return INCOMPLETE
  return end + (interviews.analysisMinutes[interview] ?? 0) * MICROS_PER_MINUTE > at
    ? PENDING_ANALYSIS
    : final
}

/** How the interviews of survey `index` end, how long they take, how its quotas close. */
const deriveHabits = (plan: WorldPlan, index: number) => {
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
    /** Cumulative probability of each status, for interviews that no quota rejects: IGNORED is last, at 1. */
    cumulative,
    completeProbability: (weights[INTERVIEW_STATUSES.indexOf('complete')] ?? 0) / total,
    typicalSeconds: random.between(150, 1_500),
    /** How likely a quota rejects an interview that would be complete, when the target is nearly reached. */
    quotaPressure: random.between(0.1, 0.7),
    softLaunch: random.chance(0.3),
  }
}

/** All interviews of a source of survey `index`, past and future, spread over the source's open time. */
const deriveInterviews = (
  plan: WorldPlan,
  index: number,
  { slot, createdAt, country, versions }: SampleSource,
  windows: readonly FieldWindow[],
  habits: ReturnType<typeof deriveHabits>,
): Interviews => {
  const random = new Random(plan, index, PURPOSES.interviews, slot)
  const checked = createQualityCheck(plan, index, slot)
  const { weight, momentAt } = openTime(windows, createdAt, country.utcOffsetMinutes)
  const target = Math.max(0, ...versions.map(({ shown }) => shown.sample_size))
  const wanted = Math.round((target * random.between(0.75, 1.45)) / habits.completeProbability)
  const count = weight === 0 ? 0 : Math.min(INTERVIEWS_MAX, wanted)
  const starts = new Float64Array(count)
  const durations = new Uint16Array(count)
  const analysisMinutes = new Uint16Array(count)
  const statuses = new Uint8Array(count)
  const quota = createQuota(versions, (interview, hasRoom) => {
    statuses[interview] = hasRoom ? COMPLETE : ABOVE_TARGET
  })
  for (let interview = 0; interview < count; interview++) {
    const { start, settledAt } = momentAt(((interview + random.fraction()) / count) * weight)
    const fill = quota.fillAt(start)
    const drawn = random.fraction()
    let status = 0
    while (drawn >= (habits.cumulative[status] ?? 1)) status += 1
    if (status === COMPLETE && isRejected(random, fill, habits.quotaPressure)) status = QUOTA_FULL
    status = checked(status)
    const seconds = drawSeconds(random, status, habits.typicalSeconds)
    const end = start + seconds * MICROS_PER_SECOND
    let minutes = 0
    if (status === PENDING_ANALYSIS) {
      const outcome = random.fraction()
      minutes = analysisOf(random, settledAt - end)
      if (minutes > 0 && outcome < 0.8) status = outcome < 0.6 ? COMPLETE : FAILED_QUALITY_CHECK
      else minutes = 0
    }
    if (status === COMPLETE) quota.add(interview, end + minutes * MICROS_PER_MINUTE)
    starts[interview] = start
    durations[interview] = seconds
    analysisMinutes[interview] = minutes
    statuses[interview] = status
  }
  quota.fillAt(Number.POSITIVE_INFINITY)
  return { starts, durations, analysisMinutes, statuses, corrections: [] }
}

/** No interview is corrected twice. */
const corrected = (interviews: Interviews, drawn: readonly LateCorrection[]): Interviews => {
  if (drawn.length === 0) return interviews
  const complete = [...interviews.statuses.keys()].filter(
    (interview) => interviews.statuses[interview] === COMPLETE,
  )
  const corrections = drawn.flatMap(({ along, at, isIgnored }) => {
    const [interview] = complete.splice(Math.floor(along * complete.length), 1)
    return interview === undefined
      ? []
      : [{ interview, at, status: isIgnored ? IGNORED : FAILED_QUALITY_CHECK }]
  })
  return { ...interviews, corrections }
}

/** Quotas of groups close before the target is reached. After that, hardly anybody is accepted. */
const isRejected = (random: Random, fill: number, pressure: number): boolean =>
  random.fraction() < (fill >= 1 ? 0.85 : pressure * fill * fill * fill)

/** Of a bad source, rejects a part of the interviews that would be complete. It draws from a stream of its own, so nothing else changes. */
const createQualityCheck = (plan: WorldPlan, index: number, slot: number) => {
  const random = new Random(plan, index, PURPOSES.quality, slot)
  const part = random.chance((plan.badSources ?? 0) / 100) ? random.between(...BAD_PART) : 0
  return (status: number): number =>
    status === COMPLETE && part > 0 && random.chance(part) ? random.pick(BAD_INTERVIEW_STATUSES) : status
}

const drawSeconds = (random: Random, status: number, typicalSeconds: number): number => {
  const spread = random.fraction() + random.fraction() + random.fraction()
  const part = PART_OF_TYPICAL[status] ?? 1
  return Math.min(
    SECONDS_MAX,
    Math.max(5, Math.round(typicalSeconds * part * 0.45 * Math.exp(SECONDS_SPREAD * spread))),
  )
}

/** An exponent of e, because a power of another base takes four times as long, a thousand times per survey. */
const SECONDS_SPREAD = Math.log(1.71)

/** Length of an interview by status, relative to a complete one. */
const PART_OF_TYPICAL = INTERVIEW_STATUSES.map((status) => {
  if (status === 'screen_out' || status === 'quota_full') return 0.15
  if (status === 'incomplete') return 0.5
  return status === 'speeder' ? 0.3 : 1
})

/** Whole minutes of an analysis that ends within `within`; 0 when that is too short. */
const analysisOf = (random: Random, within: Micros): number => {
  const drawn = random.fraction() ** 2 * ANALYSIS_DAYS_MAX * MICROS_PER_DAY
  return Math.max(0, Math.floor(Math.min(drawn, within) / MICROS_PER_MINUTE))
}

/**
 * Decides which interviews of a source are complete and which are above its target, in the order in which they end, each by the target
 * at that moment. So there are never more complete ones than the target, unless the target was lowered afterwards. `decide` is called for
 * each interview, in the order of time.
 */
const createQuota = (
  versions: SampleSource['versions'],
  decide: (interview: number, hasRoom: boolean) => void,
) => {
  /** The undecided interviews, by their end. */
  const open: { readonly interview: number; readonly endsAt: Micros }[] = []
  let complete = 0
  let next = 0
  let current = 0
  /** `moment` never goes back. */
  const targetAt = (moment: Micros): number => {
    for (
      let version = versions[next];
      version !== undefined && version.at <= moment;
      version = versions[next]
    ) {
      current = version.shown.sample_size
      next += 1
    }
    return current
  }
  return {
    /** The interview completes at `endsAt`, if there is room then. Most that begin earlier also end earlier. */
    add: (interview: number, endsAt: Micros): void => {
      let at = open.length
      while (at > 0 && (open[at - 1]?.endsAt ?? 0) > endsAt) at -= 1
      open.splice(at, 0, { interview, endsAt })
    },
    /** Decides all interviews that ended by `moment`, which never goes back. Returns how full the target is; 1 is full. */
    fillAt: (moment: Micros): number => {
      for (let first = open[0]; first !== undefined && first.endsAt <= moment; first = open[0]) {
        open.shift()
        const hasRoom = complete < targetAt(first.endsAt)
        if (hasRoom) complete += 1
        decide(first.interview, hasRoom)
      }
      const target = targetAt(moment)
      return complete >= target ? 1 : complete / target
    },
  }
}

// Late corrections: some complete surveys have a few complete interviews rejected afterwards. Only the counts of the survey and of the
// source show this, and they stay equal to each other.

/** At `at`, a complete interview of the source is rejected: the one at `along` (0 to 1) in the order of its complete interviews. */
interface LateCorrection {
  readonly slot: number
  readonly at: Micros
  readonly along: number
  /** Whether the interview no longer counts at all. Otherwise it becomes failed_quality_check. */
  readonly isIgnored: boolean
}

const CORRECTIONS_MAX = 3
const HOURS_PER_DAY = 24

/** The corrections of survey `index`, after it is complete for the last time. Their delays are log-uniform, from an hour on. */
const drawLateCorrections = (
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
