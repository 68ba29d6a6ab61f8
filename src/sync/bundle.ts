/**
 * Reads one survey's bundle: its sample sources (all pages), its progress, and the progress of each source. They are committed
 * together. If one endpoint of the survey fails, the answers of the others are kept, and the survey stays queued
 * (docs/decisions/bundles-and-refusals.md#0006-a-failed-request-is-a-failed-reading-of-one-endpoint).
 */
import pLimit from 'p-limit'
import type { Progress } from '../model/fields.js'
import type { Instant } from '../model/instant.js'
import type { SurveyKind } from '../model/request-usage.js'
import type { Answer, ReadExtent, Reading, RequestContext, SurveySource } from '../model/survey-source.js'
import type {
  GoneSurvey,
  OversizedTask,
  ReadDays,
  RefreshedBundle,
  StoredBundle,
} from '../model/warehouse.js'
import { type DaysToRead, daysToRead, type SeriesDay } from '../rules/daily-windows.js'
import { requestReasonOf, type Task } from '../rules/queue.js'
import { rulesFor } from '../rules/refresh.js'
import type { BundleAllowance } from './budget.js'
import type { EndpointWatch } from './failure-watch.js'
import {
  checkListedSource,
  createReadings,
  keepAnswers,
  OutdatedSourcesError,
  type Readings,
  SourceNotFoundError,
  UnreadSurveyError,
} from './readings.js'
import type { UsageBook } from './requests.js'
import type { RunDependencies } from './run-state.js'
import {
  canReuseList,
  canSkipSources,
  hasTargetChanged,
  hasUnknownSource,
  knownSources,
  readSources,
  type SourceList,
} from './sources.js'

export interface BundleRequest {
  /** `reason` says why the survey is read. */
  readonly task: Pick<Task, 'surveyId' | 'reason' | 'isLeftOver' | 'refusals'>
  readonly stored: StoredBundle
  /** The latest server time before this bundle. */
  readonly now: Instant
  readonly allowance: BundleAllowance
  readonly signal: AbortSignal
  readonly usage: UsageBook
  readonly watch: Pick<EndpointWatch, 'answered' | 'failed' | 'isFailing'>
}

/** How often a bundle is read in all when its list of sources proves to be outdated. */
const READINGS_MAX = 3

export interface BundleReading {
  readonly outcome: RefreshedBundle | GoneSurvey | OversizedTask
  readonly readings: Readings
}

/**
 * `oversized`: the budget has too few requests for the progress of the sources. `gone`: the survey was queued because a complete
 * listing did not show it, and both its own endpoints answered 404. Throws an `UnreadSurveyError` if every request failed, and the
 * errors that end the run.
 */
export const readBundle = async (
  dependencies: RunDependencies,
  request: BundleRequest,
): Promise<BundleReading> => {
  // After a refusal in an earlier run, a 404 counts as another refusal.
  let isNotFoundRefusal = request.task.refusals > 0
  const { source, answers } = keepAnswers(dependencies.source)
  for (let reading = 1; ; reading += 1) {
    try {
      const readings = createReadings(request)
      const attempt = { mayReuseList: reading === 1, isNotFoundRefusal, readings, answers }
      return { outcome: await readOnce({ ...dependencies, source }, request, attempt), readings }
    } catch (error) {
      if (!(error instanceof OutdatedSourcesError) || reading === READINGS_MAX) throw error
      isNotFoundRefusal ||= error instanceof SourceNotFoundError
    }
  }
}

interface Attempt {
  /** The stored sources may be used instead of the list. */
  readonly mayReuseList: boolean
  /** A 404 of a listed source is a refusal. Otherwise the source may have gone, and the list is read again. */
  readonly isNotFoundRefusal: boolean
  readonly readings: Readings
  /** The answers of this reading and the earlier ones. */
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
  if (task.reason === 'missing' && attempt.readings.areAllNotFound())
    return { kind: 'gone', surveyId: task.surveyId, at: now }
  throw new UnreadSurveyError(attempt.readings)
}

/** The answers of the survey's own endpoints. */
interface OwnReadings {
  readonly stored: StoredBundle
  /** The list of sources was not requested: the stored sources are used instead. */
  readonly reusesList: boolean
  /** Null if the list was not read. */
  readonly listed: SourceList | null
  /** Null if it was not read. */
  readonly progress: Reading<Progress> | null
}

const readOwn = async (
  { source, rules, warehouse: { account }, log }: RunDependencies,
  request: BundleRequest,
  { mayReuseList, readings }: Attempt,
): Promise<OwnReadings> => {
  const { task, stored, now } = request
  const { surveyId, reason } = task
  const readList = () =>
    readings.passOver(
      'sample_sources',
      readSources(source, surveyId, contextOf(request, 'sample_sources'), (problem) =>
        log.warn({ account, surveyId }, problem),
      ),
    )
  const mayReuse = mayReuseList && canReuseList(stored, reason, now, rulesFor(reason, rules.refresh))
  // The list is read first. A bundle is dated with its progress, so the rows of its sources must not be read later.
  const first = mayReuse ? null : await readList()
  const progress = await readings.passOver(
    'survey_progress',
    source.readSurveyProgress(surveyId, contextOf(request, 'survey_progress')),
  )
  // While no progress is answered, only the list shows whether the API answers at all, and whether sources changed.
  const isListNeeded = mayReuse && progress === null && request.watch.isFailing('survey_progress')
  return {
    stored,
    reusesList: mayReuse && !isListNeeded,
    listed: isListNeeded ? await readList() : first,
    progress,
  }
}

/** The context is made for each request: the watch may have seen failures since. */
const contextOf = (
  { task, signal, allowance, usage, watch }: BundleRequest,
  kind: SurveyKind,
): RequestContext => ({
  signal,
  allowance: usage.counting(allowance, kind, requestReasonOf(task)),
  attemptsMax: watch.isFailing(kind) ? 1 : undefined,
})

/** The progress of each source, and the days, of a survey whose own progress was read. */
const readRest = async (
  { source, warehouse, rules }: RunDependencies,
  request: BundleRequest,
  { isNotFoundRefusal, readings, answers }: Attempt,
  { stored, reusesList, listed, progress }: OwnReadings & { readonly progress: Reading<Progress> },
): Promise<RefreshedBundle | OversizedTask> => {
  const { task, allowance, usage } = request
  const { surveyId, reason } = task
  const refresh = rulesFor(reason, rules.refresh)
  const sources = listed ?? knownSources(stored)
  if (reusesList && hasTargetChanged(stored, progress.row))
    throw new OutdatedSourcesError(`the target of survey ${surveyId} keeps changing; the survey stays queued`)
  const skip = canSkipSources(stored, sources, progress, refresh)
  const ids = skip ? [] : sources.ids
  const { dailyWindows } = refresh
  const current = { progress, isUnchanged: skip, sourceIds: sources.ids }
  const toRead =
    dailyWindows === null
      ? null
      : daysToRead(refresh, dailyWindows, { stored: await warehouse.storedDays(surveyId), ...current })
  const requestsLeft = ids.length + (toRead?.days.length ?? 0)
  const requestsNeeded = Math.max(1, sources.pages) + 1 + requestsLeft
  if (!allowance.reserveRest(requestsLeft))
    return { kind: 'oversized', surveyId, at: progress.readAt, requestsNeeded }
  const isListCurrent = !reusesList && (listed === null || isNotFoundRefusal)
  const readOfSource = <Result>(
    kind: SurveyKind,
    id: number,
    reading: Promise<Result>,
  ): Promise<Result | null> =>
    readings.passOver(kind, isListCurrent ? reading : checkListedSource(surveyId, id, reading))
  const sourceReadings = await someAtOnce(ids, async (id) => ({
    id,
    reading: await readOfSource(
      'sample_source_progress',
      id,
      source.readSampleSourceProgress(surveyId, id, contextOf(request, 'sample_source_progress')),
    ),
  }))
  const sourceProgress = sourceReadings.flatMap(({ id, reading }) =>
    reading === null || reading.row === null
      ? []
      : [{ sampleSourceId: id, progress: reading.row, at: reading.readAt }],
  )
  const rows = sourceProgress.map((one) => one.progress)
  if (reusesList && !skip && readings.isComplete() && hasUnknownSource(stored, progress.row, rows))
    throw new OutdatedSourcesError(
      `the sources of survey ${surveyId} do not account for all of its interviews; the survey stays queued`,
    )
  const days =
    toRead === null
      ? null
      : await readDays({
          source,
          surveyId,
          contextOf: () => contextOf(request, 'daily_progress'),
          toRead,
          readOfSource: (id, reading) => readOfSource('daily_progress', id, reading),
          readings,
        })
  const progressReadings = [progress, ...sourceReadings.map(({ reading }) => reading)]
  usage.saved(requestReasonOf(task), {
    sample_sources: reusesList ? 1 : 0,
    sample_source_progress: sources.ids.length - ids.length,
    daily_progress: toRead?.unchanged ?? 0,
  })
  return {
    kind: 'refreshed',
    surveyId,
    at: progress.readAt,
    unread: readings.unread(),
    sourcesRead: sources.read,
    sources: sources.rows,
    listedSourceIds: sources.listedIds,
    progress: progress.row,
    sourceProgress,
    sourceProgressRead: skip ? 'none' : extentOf(reusesList || listed !== null, progressReadings),
    ...(days === null ? {} : { days }),
    ...dataProblemsIn(answers),
  }
}

/** The bundle of a survey whose progress was not read: only its sources. */
const sourcesAlone = (
  surveyId: number,
  sources: SourceList,
  { readings, answers }: Attempt,
): RefreshedBundle => ({
  kind: 'refreshed',
  surveyId,
  at: sources.readAt,
  unread: readings.unread(),
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

/** `some` if sources may be unknown, or if the progress of one was not read or could not be typed. */
const extentOf = (isListKnown: boolean, readings: readonly (Reading<Progress> | null)[]): ReadExtent =>
  isListKnown && readings.every((one) => one !== null && one.row !== null) ? 'all' : 'some'

/** Reads single days of a survey's fieldwork, if the settings say so. `rules/daily-windows` decides which days. */

interface ReadDaysOptions {
  readonly source: SurveySource
  readonly surveyId: number
  readonly contextOf: () => RequestContext
  readonly toRead: DaysToRead
  readonly readings: Readings
  /** The reading of a source; null if it failed. */
  readonly readOfSource: <Result>(id: number, reading: Promise<Result>) => Promise<Result | null>
}

/** Throws the errors of the source and of `readOfSource`. A day that fails is left out. */
export const readDays = async ({
  source,
  surveyId,
  contextOf,
  toRead,
  readings,
  readOfSource,
}: ReadDaysOptions): Promise<ReadDays> => {
  const answers = await someAtOnce(toRead.days, async ({ sampleSourceId, day }) => {
    const reading = source.readDayProgress(surveyId, sampleSourceId, day, contextOf())
    return {
      sampleSourceId,
      day,
      reading: await (sampleSourceId === null
        ? readings.passOver('daily_progress', reading)
        : readOfSource(sampleSourceId, reading)),
    }
  })
  const rows = answers.flatMap(({ sampleSourceId, day, reading }) =>
    reading === null || reading.row === null
      ? []
      : [{ sampleSourceId, day, progress: reading.row, at: reading.readAt }],
  )
  const unread = answers.filter(({ reading }) => reading === null || reading.row === null)
  const isSurvey = ({ sampleSourceId }: SeriesDay): boolean => sampleSourceId === null
  return {
    read: unread.some(isSurvey) ? 'some' : toRead.ofSurvey,
    sourcesRead: unread.every(isSurvey) ? toRead.ofSources : 'some',
    timeZone: toRead.timeZone,
    rows,
  }
}

/** Sends some requests of one bundle at the same time. The client limits the requests of all bundles together. */

const REQUESTS_AT_ONCE = 8

/** The results are in the order of `items`. When one item fails, those that still wait never start. */
export const someAtOnce = <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> => {
  const atOnce = pLimit(REQUESTS_AT_ONCE)
  return Promise.all(
    items.map((item) =>
      atOnce(async () => {
        try {
          return await work(item)
        } catch (error) {
          atOnce.clearQueue()
          throw error
        }
      }),
    ),
  )
}
