/**
 * The requests that the next run is known to need, by the stored rows, without requests for changes that its listing will bring. Pure;
 * makes no request.
 */
import { sum } from 'd3-array'
import { DAY_MS } from '../base/durations.js'
import type { Rate } from '../base/network.js'
import { type Instant, instantFromMs, minusMs, msBetween } from '../model/instant.js'
import type { FirstReading, PastRuns, PlannedSurvey, SurveyTotals } from '../model/plan-facts.js'
import { REQUEST_REASONS, type RequestReason, type RequestsByKind } from '../model/request-usage.js'
import type { Budget, DiscoverRules, ExcludeRules, ListingKind, RefreshRules } from '../model/run.js'
import { isCountDue, listingKind } from './cursor.js'
import { added, requestsIn } from './estimate.js'
import { createQueue, type ExcludedSurveys, requestReasonOf, type Task } from './queue.js'
import { windowsBefore } from './windows.js'

export interface PlanRules {
  readonly discover: DiscoverRules
  readonly refresh: RefreshRules
  /** The exclude rules of the account; by default, the surveys that the last sync found excluded. */
  readonly exclude?: ExcludeRules | undefined
  readonly full: boolean
}

export interface PlanEntry {
  readonly reason: RequestReason
  readonly surveys: number
  readonly requests: RequestsByKind
}

export interface Plan {
  /** The server's time for which the plan holds. */
  readonly at: Instant
  readonly listing: ListingKind
  readonly entries: readonly PlanEntry[]
  readonly requests: number
  /** The surveys that are known to be due, the most urgent first. */
  readonly tasks: readonly Task[]
  readonly excluded: ExcludedSurveys
}

/** Before the second run, runs are assumed to be nightly. */
const RUN_EVERY_MS = DAY_MS
const PAGE_ROWS = 50

/**
 * The server's time now: its time at the last listing, plus the time that has passed by our clock (`nowMs`). Before the first listing, our
 * time.
 */
export const serverNow = (
  { listedAt, listedAtOurs }: Pick<PastRuns, 'listedAt' | 'listedAtOurs'>,
  nowMs: number,
): Instant => {
  const now = instantFromMs(nowMs)
  if (listedAt === null) return now
  return minusMs(listedAt, listedAtOurs === null ? 0 : -msBetween(listedAtOurs, now))
}

/** When the next run is expected, server time: the usual time after the last run, or now (`nowMs`, our clock) if that has passed. */
export const expectedAt = (past: PastRuns, nowMs: number): Instant => {
  const now = serverNow(past, nowMs)
  if (past.listedAt === null) return now
  const usual = minusMs(past.listedAt, -(past.everyMs ?? RUN_EVERY_MS))
  return msBetween(usual, now) > 0 ? now : usual
}

/**
 * Surveys are added one by one, as to a queue. `nowMs` is our clock, by which the age of the last full listing counts. `firstReadings` are
 * surveys that may have windows before their first reading left to read.
 */
export const createPlan = (
  totals: SurveyTotals,
  past: PastRuns,
  { at, nowMs }: { readonly at: Instant; readonly nowMs: number },
  rules: PlanRules,
  firstReadings: readonly FirstReading[],
) => {
  const queue = createQueue(totals, at, rules, null)
  const listing = past.fullNextPage === null ? listingKind(past, nowMs, rules.discover, rules.full) : 'full'
  const pagesOf = (surveys: number) => Math.max(1, Math.ceil(surveys / (past.pageRows ?? PAGE_ROWS)))
  const windows = firstReadings.map((firstReading) => windowsBefore(firstReading, at).length)
  const counts = listing === 'incremental' && isCountDue(past, nowMs, rules.discover) ? 1 : 0
  return {
    add: (survey: PlannedSurvey): void => {
      const isDue = queue.add(survey)
      const { refreshedAt, status, missing, createdAt } = survey
      if (isDue && !missing && refreshedAt === null && status === 'fieldwork')
        windows.push(windowsBefore({ createdAt, firstReadAt: at, reconstructedFrom: null }, at).length)
    },
    plan: (): Plan => {
      const { tasks, excluded } = queue.sorted()
      // A listing that is under way goes on one page back.
      const read = Math.max(0, (past.fullNextPage ?? 1) - 2)
      const pages = listing === 'full' ? Math.max(1, pagesOf(totals.present) - read) : counts
      const entries: readonly PlanEntry[] = [
        {
          reason: 'listing',
          surveys: listing === 'full' ? totals.present : 0,
          // A listing of changes takes at least one page.
          requests: { surveys: 1 + pages },
        },
        ...entriesOf(tasks),
        ...(rules.refresh.reconstruct ? reconstructedEntry(windows.filter((count) => count > 0)) : []),
      ]
      const requests = sum(entries.map((entry) => requestsIn(entry.requests)))
      return { at, listing, entries, requests, tasks, excluded }
    },
  }
}

/** One entry per reason, in the order of `REQUEST_REASONS`. */
const entriesOf = (tasks: readonly Task[]): readonly PlanEntry[] =>
  REQUEST_REASONS.flatMap((reason): readonly PlanEntry[] => {
    const requests = tasks.filter((task) => requestReasonOf(task) === reason).map((task) => task.requests)
    if (requests.length === 0) return []
    return [{ reason, surveys: requests.length, requests: added(requests) }]
  })

const reconstructedEntry = (windows: readonly number[]): readonly PlanEntry[] => {
  const entry = { reason: 'reconstructed' as const, surveys: windows.length }
  return windows.length === 0 ? [] : [{ ...entry, requests: { daily_progress: sum(windows) } }]
}

/** The requests that a run sends only if its budget leaves room. */
const reconstructedRequests = ({ entries }: Plan): number =>
  sum(entries.map(({ reason, requests }) => (reason === 'reconstructed' ? requestsIn(requests) : 0)))

/**
 * From the first send to the last, milliseconds, if the server answers at once. Assumes one burst of the whole cap per window, without the
 * limiter's margin.
 */
export const timeAtCapMs = (requests: number, { requests: cap, perMs }: Rate): number =>
  requests <= 0 ? 0 : Math.floor((requests - 1) / cap) * perMs

/** Requests that can be sent within a time, by the assumption of `timeAtCapMs`. */
export const requestsWithin = (durationMs: number, { requests: cap, perMs }: Rate): number =>
  (Math.floor(durationMs / perMs) + 1) * cap

export interface AccountPlan {
  readonly account: string
  readonly rate: Rate
  /** Null before the first complete listing. */
  readonly plan: Plan | null
  readonly fit: ReturnType<typeof fitPlan> | null
}

/**
 * The part of a plan that fits into the budget of a run: surveys in the order of the queue, without surveys whose reserve does not fit. The
 * remaining requests go to surveys that no run with this budget can read as a whole. `waiting` surveys are left over. `oldestSince` is the
 * earliest time at which one of them was last read, or queued if never read.
 */
export const fitPlan = (
  plan: Plan,
  { requests_max: requestsMax, duration_max: durationMsMax }: Budget,
  rate: Rate,
) => {
  const withinTime = durationMsMax === null ? Number.POSITIVE_INFINITY : requestsWithin(durationMsMax, rate)
  const room = Math.min(requestsMax ?? Number.POSITIVE_INFINITY, withinTime)
  const known = plan.tasks.reduce((total, { requests }) => total + requestsIn(requests), 0)
  const reconstructed = reconstructedRequests(plan)
  let spent = plan.requests - known - reconstructed
  const wholeMax = room - spent
  const waiting: Task[] = []
  for (const task of plan.tasks) {
    if (spent + task.reserve > room) waiting.push(task)
    else spent += requestsIn(task.requests)
  }
  const surveys = plan.tasks.length - waiting.length
  for (const { requests, reserve } of waiting)
    if (reserve > wholeMax) spent += Math.max(0, Math.min(requestsIn(requests), room - spent))
  if (waiting.length === 0) spent += Math.min(reconstructed, Math.max(0, room - spent))
  const oldestSince = waiting.reduce<Instant | null>(
    (oldest, { since }) => (oldest === null || since < oldest ? since : oldest),
    null,
  )
  return { surveys, requests: spent, waiting: waiting.length, oldestSince }
}
