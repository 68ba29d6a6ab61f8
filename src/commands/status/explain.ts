/**
 * Why the data of one survey is as old as it is, and when the survey is read next. Pure: the rules of a run decide, and this file puts the
 * decision into words.
 */
import { counted, humanAge } from '../../base/human.js'
import { onOneLine } from '../../model/data-problem-names.js'
import { formatInstant, type Instant, msBetween } from '../../model/instant.js'
import type { PlannedSurvey } from '../../model/plan-facts.js'
import type { RefreshRules, TaskReason } from '../../model/run.js'
import type { Plan } from '../../rules/plan.js'
import { nextReading, pausedUntil } from '../../rules/refresh.js'
import type { SurveyStatus } from '../../warehouse/survey-status.js'
import { shortReason } from './verdict.js'

/** The causes of old data, in the order in which they are named. */
export const CAUSES = [
  'no_run',
  'missing',
  'left_out',
  'sources_left_out',
  'excluded',
  'failed',
  'rejected',
  'queued',
  'not_queued',
  'not_due',
  'unchanged',
  'sources_skipped',
] as const

interface Cause {
  readonly cause: (typeof CAUSES)[number]
  readonly text: string
}

export const NEXT_READINGS = ['next_run', 'later', 'after_change', 'never'] as const

interface NextReading {
  readonly when: (typeof NEXT_READINGS)[number]
  /** When the next run is expected, or when the survey becomes due, server time; null if neither is known. */
  readonly at: Instant | null
  readonly reason: TaskReason | null
  /** The survey's place among the `of` surveys that the next run is known to read; null if it is not one of them. */
  readonly place: number | null
  readonly of: number | null
  readonly text: string
}

export interface Clocks {
  /** The server's time. */
  readonly now: Instant
  readonly ours: Instant
  /** The server's time when the last complete listing was made; null before the first. */
  readonly listedAt: Instant | null
  readonly maxAgeMs: number
}

/** An instant to the minute, which is exact enough for people. */
export const shortInstant = (at: Instant): string => `${formatInstant(at).slice(0, 16)}Z`

/** `2026-03-10T00:00Z (3 h ago)` */
export const withAge = (at: Instant, now: Instant): string =>
  `${shortInstant(at)} (${humanAge(msBetween(at, now))})`

/** `plan` is the plan of the next run; null before the first complete listing. */
export const explain = (
  survey: { readonly account: string; readonly surveyId: number },
  status: SurveyStatus,
  plan: Plan | null,
  clocks: Clocks,
  rules: RefreshRules,
) => {
  const { stored, planned, rejections, days } = status
  const task = planned?.task ?? null
  const next = nextReadingOf(survey.surveyId, planned, plan, clocks.now, rules)
  return {
    ...survey,
    title: stored.title,
    status: stored.status,
    /** The changed row, which waits for the next reading, has another status. */
    pendingStatus: planned === null || planned.status === stored.status ? null : planned.status,
    missingSince: stored.missing_since,
    now: clocks.now,
    why: causesOf(status, next, clocks),
    listedAt: stored.listed_at,
    refreshedAt: stored.refreshed_at,
    progressSince: stored.progress_since,
    next,
    queue:
      task === null
        ? null
        : {
            reason: task.reason,
            enqueuedAt: task.enqueuedAt,
            attempts: stored.attempts ?? 0,
            refusals: task.refusals,
            refusedAt: task.refusedAt,
          },
    lastError: stored.last_error,
    rejections,
    sources: {
      count: planned?.sources ?? 0,
      listedAt: stored.sources_read_at,
      progressReadAt: stored.source_progress_read_at,
    },
    days,
  }
}

export type Explained = ReturnType<typeof explain>

const nextReadingOf = (
  surveyId: number,
  survey: PlannedSurvey | null,
  plan: Plan | null,
  now: Instant,
  rules: RefreshRules,
): NextReading => {
  const none = { at: null, reason: null, place: null, of: null }
  if (plan === null)
    return { ...none, when: 'next_run', text: 'the next run continues the first listing of all surveys' }
  if (survey !== null && survey.excludedBy !== null)
    return { ...none, when: 'never', text: 'not while the settings exclude it, or with sync --surveys' }
  const place = plan.tasks.findIndex((task) => task.surveyId === surveyId)
  const { reason } = plan.tasks[place] ?? { reason: null }
  if (survey !== null && reason !== null) {
    const of = plan.tasks.length
    const text = `in the next run, expected ${withAge(plan.at, now)}: ${REASONS[reason](onOneLine(survey.status))}; place ${place + 1} of ${of}`
    return { when: 'next_run', at: plan.at, reason, place: place + 1, of, text }
  }
  if (survey === null)
    return { ...none, when: 'after_change', text: 'when a listing shows a row of it that can be typed' }
  if (survey.task !== null) {
    const { refusals, refusedAt, unfinished, unfinishedAt } = survey.task
    const pauseEnd = pausedUntil(unfinished, unfinishedAt, plan.at, rules)
    const at = pauseEnd ?? pausedUntil(refusals, refusedAt, plan.at, rules)
    const why =
      pauseEnd === null
        ? `the API refused it in ${counted(refusals, 'run')} in a row`
        : `${counted(unfinished, 'run')} in a row began to read it and did not end`
    const change = pauseEnd === null ? ', or when its row changes' : ''
    const text = at === null ? why : `from ${withAge(at, now)}${change}: ${why}`
    return { ...none, when: 'later', at, reason: survey.task.reason, text }
  }
  const next = nextReading(survey, plan.at, rules)
  if (next === null) return { ...none, when: 'never', text: 'not before a listing shows it again' }
  const { at, reason: why } = next
  const text = `from ${withAge(at, now)}, or when its row changes: ${REASONS[why](onOneLine(survey.status))}`
  return { ...none, when: 'later', at, reason: why, text }
}

const REASONS: Readonly<Record<TaskReason, (status: string) => string>> = {
  changed: () => 'its row is new or has changed',
  active: (status) => `every run reads a survey in ${status}`,
  inactive: (status) => `a survey in ${status} is read 1, 2, 4, 8 … days after its last change`,
  missing: () => 'the last full listing did not show it',
  requested: () => 'sync --surveys named it, and did not read it completely',
}

const causesOf = (status: SurveyStatus, next: NextReading, clocks: Clocks): readonly Cause[] => {
  const { now, ours, listedAt, maxAgeMs } = clocks
  const { stored, lastRun, planned } = status
  const { refreshed_at: refreshedAt, progress_since: since, source_progress_read_at: sourcesAt } = stored
  const task = planned?.task ?? null
  const reason = lastRun?.reason == null ? '' : `: ${shortReason(lastRun.reason)}`
  const isOld = refreshedAt !== null && listedAt !== null && refreshedAt < listedAt
  const isNotDue = task === null && next.when !== 'next_run' && !(planned?.missing ?? true) && isOld
  const rejected = rejectedText(status)
  const texts: Readonly<Record<Cause['cause'], string | false>> = {
    no_run:
      (lastRun === null || Math.abs(msBetween(lastRun.ended_at, ours)) > maxAgeMs) &&
      `${lastRun === null ? 'no sync of the account has ended' : `the last sync that is published ended ${humanAge(msBetween(lastRun.ended_at, ours))}`}: no run took place or could publish since, or this is an old file`,
    missing:
      stored.missing_since !== null &&
      `the API does not show it since ${withAge(stored.missing_since, now)}, so it is not read`,
    ...leftOutTexts(stored, now),
    excluded:
      planned !== null &&
      planned.excludedBy !== null &&
      `the settings exclude it by its ${planned.excludedBy} (accounts[].exclude), so its progress is not read`,
    failed:
      stored.last_error !== null &&
      `its last reading failed (tried ${counted(stored.attempts ?? 1, 'time')}): ${onOneLine(stored.last_error)}`,
    rejected,
    queued:
      task !== null &&
      next.when !== 'never' &&
      stored.last_error === null &&
      `it waits in the queue since ${withAge(task.enqueuedAt, now)}: the last run ended before it read the survey${reason}`,
    not_queued:
      task === null &&
      next.when === 'next_run' &&
      lastRun !== null &&
      lastRun.status !== 'complete' &&
      (lastRun.surveys_refreshed ?? 0) === 0 &&
      `the last run ended before it queued the survey${reason}`,
    not_due:
      isNotDue &&
      next.when === 'later' &&
      'it was not due: an inactive survey is read 1, 2, 4, 8 … days after its last change',
    unchanged:
      rejected === false &&
      stored.missing_since === null &&
      refreshedAt !== null &&
      since !== null &&
      since < refreshedAt &&
      `its progress is unchanged since ${withAge(since, now)}`,
    sources_skipped:
      (planned?.sources ?? 0) > 0 &&
      refreshedAt !== null &&
      sourcesAt !== null &&
      sourcesAt < refreshedAt &&
      `the progress of all its sources was last read ${withAge(sourcesAt, now)}; since then neither their list nor the progress of the survey has changed`,
  }
  return CAUSES.flatMap((cause) => {
    const text = texts[cause]
    return text === false ? [] : [{ cause, text }]
  })
}

const leftOutTexts = (
  {
    missing_since: missingSince,
    unlisted_since: since,
    refreshed_at: refreshedAt,
    sources_left_out: sources,
  }: SurveyStatus['stored'],
  now: Instant,
) => {
  if (missingSince !== null) return { left_out: false, sources_left_out: false } as const
  const isLeftOut = since !== null && refreshedAt !== null && refreshedAt >= since
  return {
    left_out:
      isLeftOut &&
      `the list leaves it out since ${withAge(since, now)}, but it still answers: every run reads it`,
    sources_left_out:
      sources !== null &&
      `its list leaves out ${counted(sources, 'source that still answers', 'sources that still answer')}: every run reads it`,
  } as const
}

/** A row of the last listing or reading is in quarantine, so the row before it stays. */
const rejectedText = ({ stored, rejections }: SurveyStatus): string | false => {
  const rejection = rejections.find(
    ({ endpoint, sources, days, rows, replayed, last_at: at }) =>
      replayed < rows &&
      (endpoint === 'surveys'
        ? at === stored.listed_at
        : endpoint === 'fieldwork_progress' && sources + days === 0 && at === stored.refreshed_at),
  )
  if (rejection === undefined) return false
  const what = rejection.endpoint === 'surveys' ? 'row in the listing' : 'progress'
  return `its last ${what} could not be typed and is in quarantine: ${onOneLine(rejection.problem)}`
}
