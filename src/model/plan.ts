/**
 * What the next run will ask for, estimated from what is stored: which surveys are due and why, how many requests each of
 * them takes, and what will be listed. Pure; nobody is asked anything.
 */
import { ageMs, believed } from './believed.js'
import { listingKind } from './cursor.js'
import { type Instant, instantFromMs, minusMs, msBetween } from './instant.js'
import type { PastRuns, PlannedSurvey } from './plan-facts.js'
import {
  isLive,
  listsSources,
  refreshReason,
  refreshWeight,
  restsAfterRefusal,
  rulesFor,
  urgency,
} from './refresh-rules.js'
import type { DiscoverRules, ListingKind, RefreshRules, TaskReason } from './run.js'
import { type RequestsByKind, SPENDING_KINDS, SPENDING_REASONS, type SpendingReason } from './spending.js'

export interface PlanRules {
  readonly discover: DiscoverRules
  readonly refresh: RefreshRules
  /** List all surveys, whatever the cursor. */
  readonly full: boolean
}

export interface PlanEntry {
  readonly reason: SpendingReason
  /** Surveys that are due for it; expected ones too. */
  readonly surveys: number
  readonly requests: RequestsByKind
}

export interface PlannedTask {
  readonly requests: number
  /** Since when it waits, in the eyes of the queue. */
  readonly since: Instant
  readonly urgency: number
}

export interface Plan {
  /** The server's time for which it holds. */
  readonly at: Instant
  readonly listing: ListingKind
  readonly entries: readonly PlanEntry[]
  /** All requests, estimated. */
  readonly requests: number
  /** The surveys that are due as far as is known, the most urgent first. */
  readonly tasks: readonly PlannedTask[]
}

const DAY_MS = 86_400_000
/** Runs that nobody has seen twice are taken to be nightly. */
const RUN_EVERY_MS = DAY_MS
/** Changes are taken to come as often as in the last week. */
const CHANGES_SEEN_MS = 7 * DAY_MS
const PAGE_ROWS = 50
/** Of a survey that was never read, where none was. */
const SOURCES = 1

/** When the next run is expected, server time: as long after the last one as usual, or now (`nowMs`, our clock) where that has gone by. */
export const expectedAt = ({ listedAt, listedAtOurs, everyMs }: PastRuns, nowMs: number): Instant => {
  const now = instantFromMs(nowMs)
  if (listedAt === null) return now
  const sinceMs = listedAtOurs === null ? 0 : msBetween(listedAtOurs, now)
  return minusMs(listedAt, -Math.max(sinceMs, everyMs ?? RUN_EVERY_MS))
}

/** `nowMs` is our clock: it dates the last full listing. */
export const planRun = (
  surveys: readonly PlannedSurvey[],
  past: PastRuns,
  { at, nowMs }: { readonly at: Instant; readonly nowMs: number },
  rules: PlanRules,
): Plan => {
  const there = surveys.filter(({ missing }) => !missing)
  const read = there.filter(({ refreshedAt }) => refreshedAt !== null)
  const sourcesEach =
    read.length === 0 ? SOURCES : Math.max(1, sum(read.map(({ sources }) => sources)) / read.length)
  const due = there.flatMap((survey): readonly Due[] => {
    const reason = survey.task?.reason ?? refreshReason(survey, at, rules.refresh)
    if (reason === null) return []
    if (!rules.full && survey.task !== null && restsAfterRefusal(survey.task, at, rules.refresh)) return []
    const requests = bundleRequests(survey, reason, at, { rules: rules.refresh, sourcesEach })
    return [{ survey, reason: survey.task === null ? reason : 'left_over', requests }]
  })
  const listing = listingKind(past, nowMs, rules.discover, rules.full)
  const changes = expectedChanges(there, new Set(due.map(({ survey }) => survey.id)), past, at, sourcesEach)
  const listed = listing === 'full' ? there.length + changes.created : changes.listed
  const entries = [
    {
      reason: 'listing' as const,
      surveys: Math.round(listed),
      requests: { surveys: Math.max(1, Math.ceil(listed / (past.pageRows ?? PAGE_ROWS))) },
    },
    ...entriesOf(due, changes.entry),
  ]
  return {
    at,
    listing,
    entries,
    requests: sum(entries.map(({ requests }) => requestsIn(requests))),
    tasks: due
      .map(({ survey, requests }) => taskOf(survey, requestsIn(requests), at, rules.refresh))
      .toSorted((one, other) => other.urgency - one.urgency),
  }
}

interface Due {
  readonly survey: PlannedSurvey
  readonly reason: SpendingReason
  readonly requests: RequestsByKind
}

export const requestsIn = (requests: RequestsByKind): number => sum(Object.values(requests))

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** What one bundle takes. A survey whose progress moved when it was last read is taken to move again; read only once, it moves if it lives. */
export const bundleRequests = (
  survey: PlannedSurvey,
  reason: TaskReason,
  at: Instant,
  { rules: anyRules, sourcesEach }: { readonly rules: RefreshRules; readonly sourcesEach: number },
): RequestsByKind => {
  const rules = rulesFor(reason, anyRules)
  const isNew = survey.refreshedAt === null
  const sources = isNew ? Math.round(sourcesEach) : survey.sources
  const moves =
    isNew || reason === 'missing' || !rules.skipUnchanged || (survey.moved ?? isLive(survey.status))
  const { sourceProgressReadAt } = survey
  const asksSources = moves || ageMs(sourceProgressReadAt, at) >= rules.recheckUnchangedAfterMs
  return {
    sample_sources: listsSources(survey.sourcesReadAt, reason, at, rules) ? 1 : 0,
    survey_progress: 1,
    sample_source_progress: asksSources ? sources : 0,
    ...(rules.dailyWindows === null || !asksSources
      ? {}
      : {
          daily_progress: isLive(survey.status)
            ? (rules.dailyWindows.days + 1) * (1 + (rules.dailyWindows.sources ? sources : 0))
            : survey.daysOpen,
        }),
  }
}

const taskOf = (survey: PlannedSurvey, requests: number, at: Instant, rules: RefreshRules): PlannedTask => {
  const since = waitsSince(survey, at)
  return {
    requests: survey.task?.requestsNeeded ?? requests,
    since,
    urgency: urgency(msBetween(since, at), refreshWeight(survey.status, rules.weights)),
  }
}

/** As the queue has it: since its last refresh, else since it was queued. Without a time that is believed, since ever. */
const waitsSince = ({ refreshedAt, task }: PlannedSurvey, at: Instant): Instant =>
  believed(refreshedAt, at) ?? (task === null ? at : (believed(task.enqueuedAt, at) ?? 0n))

/** New surveys, and changes of the others, as often as in the week before the last run: what they cost beside what is due anyway. */
const expectedChanges = (
  surveys: readonly PlannedSurvey[],
  due: ReadonlySet<number>,
  { listedAt }: PastRuns,
  at: Instant,
  sourcesEach: number,
) => {
  if (listedAt === null) return { listed: surveys.length, created: 0, entry: null }
  const from = minusMs(listedAt, CHANGES_SEEN_MS)
  const times = Math.max(0, msBetween(listedAt, at)) / CHANGES_SEEN_MS
  const changed = surveys.filter(({ updatedAt }) => updatedAt >= from)
  const created = times * surveys.filter(({ createdAt }) => createdAt >= from).length
  const known = changed.filter(({ createdAt }) => createdAt < from)
  const rested = times * known.filter(({ id }) => !due.has(id)).length
  // Those that are due anyway are counted there; their change costs a list of their sources more.
  const relisted = Math.round(times * known.filter(({ id }) => due.has(id)).length)
  const newcomers = Math.round(created + rested)
  return {
    listed: times * changed.length,
    created,
    entry: {
      reason: 'changed' as const,
      surveys: newcomers + relisted,
      requests: {
        sample_sources: newcomers + relisted,
        survey_progress: newcomers,
        sample_source_progress: Math.round(created * sourcesEach),
      },
    },
  }
}

/** One entry a reason, in the order of their names. */
const entriesOf = (due: readonly Due[], expected: PlanEntry | null): readonly PlanEntry[] =>
  SPENDING_REASONS.flatMap((reason): readonly PlanEntry[] => {
    const mine = due.filter((one) => one.reason === reason).map(({ requests }) => requests)
    const others = expected?.reason === reason ? expected : null
    const surveys = mine.length + (others?.surveys ?? 0)
    if (surveys === 0) return []
    return [{ reason, surveys, requests: added([...mine, others?.requests ?? {}]) }]
  })

const added = (all: readonly RequestsByKind[]): RequestsByKind =>
  Object.fromEntries(
    SPENDING_KINDS.map((kind) => [kind, sum(all.map((one) => one[kind] ?? 0))] as const).filter(
      ([, count]) => count > 0,
    ),
  )
