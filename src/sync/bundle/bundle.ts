/**
 * Reads one survey's bundle: its sample sources (all pages), its progress, and the progress of each source. They belong
 * together and are committed together. Where the API refuses one of the survey's addresses, what it answers at the
 * others is kept, and the survey stays queued.
 */
import { ageMs } from '../../model/believed.js'
import { daysToRead } from '../../model/daily-windows.js'
import type { Progress } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import type { Task } from '../../model/queue.js'
import { rulesFor } from '../../model/refresh-rules.js'
import type { RequestKind } from '../../model/request-usage.js'
import type { RefreshRules } from '../../model/run.js'
import type { Answer, ReadExtent, Reading } from '../../model/survey-source.js'
import type {
  CellRow,
  GoneSurvey,
  OversizedTask,
  RefreshedBundle,
  StoredBundle,
} from '../../model/warehouse.js'
import type { BundleAllowance } from '../budget/budget.js'
import type { ReasonBook } from '../budget/request-usage.js'
import type { RunDependencies } from '../dependencies.js'
import { someAtOnce } from './at-once.js'
import { readDays } from './days.js'
import { keepAnswers } from './kept-answers.js'
import { interviewsElsewhere, mayRestSources, targetMoved } from './known-sources.js'
import { OutdatedSourcesError, ofListedSource, SourceNotFoundError } from './outdated-sources.js'
import { createRefusals, type Refusals, RefusedSurveyError } from './refusals.js'
import { knownSources, readSources, type SourceList } from './sources.js'

export interface BundleRequest {
  /** `reason` says why the survey is read. */
  readonly task: Pick<Task, 'surveyId' | 'reason' | 'refusals'>
  /** The latest time that the server told before this bundle. */
  readonly now: Instant
  readonly allowance: BundleAllowance
  readonly signal: AbortSignal
  readonly book: ReasonBook
}

/** Of the same bundle, where its list of sources turned out not to be the current one. */
const READINGS_MAX = 3

/** What became of the survey, and what the API refused of it. */
export interface BundleReading {
  readonly outcome: RefreshedBundle | GoneSurvey | OversizedTask
  readonly refusals: Refusals
}

/**
 * `oversized`: the budget does not reach for the requests per source. `gone`: the survey was queued because a complete
 * listing did not show it, and both its own addresses answered 404. Throws a `RefusedSurveyError` where the API refused
 * all that was asked, and what else the source throws.
 */
export const readBundle = async (
  dependencies: RunDependencies,
  request: BundleRequest,
): Promise<BundleReading> => {
  // What the API refused in an earlier run, it is believed to refuse.
  let believesNotFound = request.task.refusals > 0
  const { source, answers } = keepAnswers(dependencies.source)
  for (let reading = 1; ; reading += 1) {
    try {
      const refusals = createRefusals(request.task.surveyId)
      const attempt = { mayRest: reading === 1, believesNotFound, refusals, answers }
      return { outcome: await readOnce({ ...dependencies, source }, request, attempt), refusals }
    } catch (error) {
      if (!(error instanceof OutdatedSourcesError) || reading === READINGS_MAX) throw error
      believesNotFound ||= error instanceof SourceNotFoundError
    }
  }
}

interface Attempt {
  /** The stored sources may be taken for the listed ones. */
  readonly mayRest: boolean
  /** A listed source that answers 404 is refused; otherwise it may have gone since, and the list is read again. */
  readonly believesNotFound: boolean
  readonly refusals: Refusals
  /** To this reading and those before it. */
  readonly answers: readonly Answer[]
}

const readOnce = async (
  dependencies: RunDependencies,
  request: BundleRequest,
  attempt: Attempt,
): Promise<RefreshedBundle | GoneSurvey | OversizedTask> => {
  const own = await readOwn(dependencies, request, attempt)
  const { progress } = own
  if (progress !== null) return await readRest(dependencies, request, attempt, { ...own, progress })
  const { task, now } = request
  if (own.listed !== null) return sourcesAlone(task.surveyId, own.listed, attempt)
  if (task.reason === 'missing' && attempt.refusals.areAllNotFound())
    return { kind: 'gone', surveyId: task.surveyId, at: now }
  throw new RefusedSurveyError(task.surveyId, attempt.refusals)
}

/** What the survey's own addresses answered. */
interface OwnReadings {
  readonly stored: StoredBundle
  /** The list of sources was not requested: the stored ones are taken for it. */
  readonly rests: boolean
  /** Null where the list was refused, or not requested. */
  readonly listed: SourceList | null
  /** Null where it was refused. */
  readonly progress: Reading<Progress> | null
}

const readOwn = async (
  { source, warehouse, rules }: RunDependencies,
  { task: { surveyId, reason }, now, signal, allowance, book }: BundleRequest,
  { mayRest, refusals }: Attempt,
): Promise<OwnReadings> => {
  const on = (kind: RequestKind) => ({ signal, allowance: book.counting(allowance, kind) })
  const stored = await warehouse.storedBundle(surveyId)
  const rests = mayRest && mayRestSources(stored, reason, now, rulesFor(reason, rules.refresh))
  // Before the progress, for the date of a bundle is that of its progress: no row of it was read later than it says.
  const listed = rests
    ? null
    : await refusals.passOver(readSources(source, surveyId, on('sample_sources')), 'sources')
  const progress = await refusals.passOver(
    source.readSurveyProgress(surveyId, on('survey_progress')),
    'progress',
  )
  return { stored, rests, listed, progress }
}

/** The progress of each source, and the days, of a survey whose own progress was read. */
const readRest = async (
  { source, warehouse, rules }: RunDependencies,
  { task: { surveyId, reason }, allowance, signal, book }: BundleRequest,
  { believesNotFound, refusals, answers }: Attempt,
  { stored, rests, listed, progress }: OwnReadings & { readonly progress: Reading<Progress> },
): Promise<RefreshedBundle | OversizedTask> => {
  const refresh = rulesFor(reason, rules.refresh)
  const on = (kind: RequestKind) => ({ signal, allowance: book.counting(allowance, kind) })
  const sources = listed ?? knownSources(stored)
  if (rests && targetMoved(stored, progress.row))
    throw new OutdatedSourcesError(`the target of survey ${surveyId} keeps changing; it stays queued`)
  const skip = canSkipSources(stored, sources, progress, refresh)
  const ids = skip ? [] : sources.ids
  const { dailyWindows } = refresh
  const question = { progress, isUnchanged: skip, sourceIds: sources.ids }
  const toRead =
    dailyWindows === null
      ? null
      : daysToRead(refresh, dailyWindows, { stored: await warehouse.storedDays(surveyId), ...question })
  const rest = ids.length + (toRead?.days.length ?? 0)
  if (!allowance.reserveRest(rest)) {
    return {
      kind: 'oversized',
      surveyId,
      at: progress.readAt,
      requestsNeeded: Math.max(1, sources.pages) + 1 + rest,
    }
  }
  const isListCurrent = !rests && (listed === null || believesNotFound)
  const ofSource = <Result>(id: number, one: Promise<Result>): Promise<Result | null> =>
    refusals.passOver(isListCurrent ? one : ofListedSource(surveyId, id, one), 'source')
  const perSource = on('sample_source_progress')
  const each = await someAtOnce(ids, async (id) => ({
    id,
    reading: await ofSource(id, source.readSampleSourceProgress(surveyId, id, perSource)),
  }))
  const sourceProgress = each.flatMap(({ id, reading: one }) =>
    one === null || one.row === null ? [] : [{ sampleSourceId: id, progress: one.row, at: one.readAt }],
  )
  const rows = sourceProgress.map((one) => one.progress)
  if (rests && !skip && refusals.isEmpty() && interviewsElsewhere(stored, progress.row, rows))
    throw new OutdatedSourcesError(
      `the sources of survey ${surveyId} do not account for all of its interviews; it stays queued`,
    )
  const days =
    toRead === null
      ? null
      : await readDays({ source, surveyId, context: on('daily_progress'), toRead, ofSource, refusals })
  const readings = [progress, ...each.map(({ reading: one }) => one)]
  book.saved({
    sample_sources: rests ? 1 : 0,
    sample_source_progress: sources.ids.length - ids.length,
    daily_progress: toRead?.unchanged ?? 0,
  })
  return {
    kind: 'refreshed',
    surveyId,
    at: progress.readAt,
    refused: refusals.inPart(),
    sourcesRead: sources.read,
    sources: sources.rows,
    listedSourceIds: sources.listedIds,
    progress: progress.row,
    sourceProgress,
    sourceProgressRead: skip ? 'none' : extentOf(rests || listed !== null, readings),
    ...(days === null ? {} : { days }),
    ...dataProblemsIn(answers),
  }
}

/** The sources of a survey whose progress was refused. */
const sourcesAlone = (
  surveyId: number,
  sources: SourceList,
  { refusals, answers }: Attempt,
): RefreshedBundle => ({
  kind: 'refreshed',
  surveyId,
  at: sources.readAt,
  refused: refusals.inPart(),
  sourcesRead: sources.read,
  sources: sources.rows,
  listedSourceIds: sources.listedIds,
  progress: null,
  sourceProgress: [],
  sourceProgressRead: 'none',
  ...dataProblemsIn(answers),
})

const dataProblemsIn = (answers: readonly Answer[]) => ({
  rejections: answers.flatMap(({ rejections }) => rejections),
  drift: answers.flatMap(({ drift }) => drift),
})

/** `some` where sources may be unknown, or the progress of one was refused or could not be typed. */
const extentOf = (isListKnown: boolean, readings: readonly (Reading<Progress> | null)[]): ReadExtent =>
  isListKnown && readings.every((one) => one !== null && one.row !== null) ? 'all' : 'some'

/**
 * Whether the requests per source can be skipped: the sources and the survey's progress equal what is stored, the
 * progress of every source is stored, and was read not too long ago.
 */
export const canSkipSources = (
  stored: StoredBundle,
  sources: SourceList,
  progress: Reading<Progress>,
  rules: RefreshRules,
): boolean => {
  if (!rules.skipUnchanged || progress.row === null || stored.progress === null) return false
  if (sources.read === 'some') return false
  if (ageMs(stored.sourceProgressReadAt, progress.readAt) >= rules.recheckUnchangedAfterMs) return false
  if (!sameRow(progress.row, stored.progress) || sources.ids.length !== stored.sources.length) return false
  const storedById = new Map(stored.sources.map((row) => [row.id, row]))
  return (
    sources.ids.every((id) => stored.sourcesWithProgress.includes(id)) &&
    sources.rows.every((row) => sameRow(row, storedById.get(row.id) ?? {}))
  )
}

const sameRow = (fresh: CellRow, stored: CellRow): boolean =>
  Object.entries(fresh).every(([name, cell]) => stored[name] === cell)
