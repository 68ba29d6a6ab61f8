/**
 * Reads one survey's bundle: its sample sources (all pages), its progress, and the progress of each source. They are committed
 * together. If the API refuses one endpoint of the survey, the answers of the others are kept, and the survey stays queued
 * (docs/decisions/0006-refusal-concerns-one-endpoint.md).
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
import { canReuseList, hasTargetChanged, hasUnknownSource } from './known-sources.js'
import { checkListedSource, OutdatedSourcesError, SourceNotFoundError } from './outdated-sources.js'
import { createRefusals, type Refusals, RefusedSurveyError } from './refusals.js'
import { knownSources, readSources, type SourceList } from './sources.js'

export interface BundleRequest {
  /** `reason` says why the survey is read. */
  readonly task: Pick<Task, 'surveyId' | 'reason' | 'refusals'>
  readonly stored: StoredBundle
  /** The latest server time before this bundle. */
  readonly now: Instant
  readonly allowance: BundleAllowance
  readonly signal: AbortSignal
  readonly book: ReasonBook
}

/** How often a bundle is read in all when its list of sources proves to be outdated. */
const READINGS_MAX = 3

export interface BundleReading {
  readonly outcome: RefreshedBundle | GoneSurvey | OversizedTask
  readonly refusals: Refusals
}

/**
 * `oversized`: the budget has too few requests for the progress of the sources. `gone`: the survey was queued because a complete
 * listing did not show it, and both its own endpoints answered 404. Throws a `RefusedSurveyError` if the API refused every
 * request, and the errors of the source.
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
      const refusals = createRefusals(request.task.surveyId)
      const attempt = { mayReuseList: reading === 1, isNotFoundRefusal, refusals, answers }
      return { outcome: await readOnce({ ...dependencies, source }, request, attempt), refusals }
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
  readonly refusals: Refusals
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
  if (task.reason === 'missing' && attempt.refusals.areAllNotFound())
    return { kind: 'gone', surveyId: task.surveyId, at: now }
  throw new RefusedSurveyError(task.surveyId, attempt.refusals)
}

/** The answers of the survey's own endpoints. */
interface OwnReadings {
  readonly stored: StoredBundle
  /** The list of sources was not requested: the stored sources are used instead. */
  readonly reusesList: boolean
  /** Null if the list was refused or not requested. */
  readonly listed: SourceList | null
  /** Null if it was refused. */
  readonly progress: Reading<Progress> | null
}

const readOwn = async (
  { source, rules, warehouse: { account }, log }: RunDependencies,
  { task: { surveyId, reason }, stored, now, signal, allowance, book }: BundleRequest,
  { mayReuseList, refusals }: Attempt,
): Promise<OwnReadings> => {
  const contextOf = (kind: RequestKind) => ({ signal, allowance: book.counting(allowance, kind) })
  const reusesList = mayReuseList && canReuseList(stored, reason, now, rulesFor(reason, rules.refresh))
  // The list is read first. A bundle is dated with its progress, so the rows of its sources must not be read later.
  const listed = reusesList
    ? null
    : await refusals.passOver(
        readSources(source, surveyId, contextOf('sample_sources'), (problem) =>
          log.warn({ account, surveyId }, problem),
        ),
        'sources',
      )
  const progress = await refusals.passOver(
    source.readSurveyProgress(surveyId, contextOf('survey_progress')),
    'progress',
  )
  return { stored, reusesList, listed, progress }
}

/** The progress of each source, and the days, of a survey whose own progress was read. */
const readRest = async (
  { source, warehouse, rules }: RunDependencies,
  { task: { surveyId, reason }, allowance, signal, book }: BundleRequest,
  { isNotFoundRefusal, refusals, answers }: Attempt,
  { stored, reusesList, listed, progress }: OwnReadings & { readonly progress: Reading<Progress> },
): Promise<RefreshedBundle | OversizedTask> => {
  const refresh = rulesFor(reason, rules.refresh)
  const contextOf = (kind: RequestKind) => ({ signal, allowance: book.counting(allowance, kind) })
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
  if (!allowance.reserveRest(requestsLeft)) {
    return {
      kind: 'oversized',
      surveyId,
      at: progress.readAt,
      requestsNeeded: Math.max(1, sources.pages) + 1 + requestsLeft,
    }
  }
  const isListCurrent = !reusesList && (listed === null || isNotFoundRefusal)
  const readOfSource = <Result>(id: number, reading: Promise<Result>): Promise<Result | null> =>
    refusals.passOver(isListCurrent ? reading : checkListedSource(surveyId, id, reading), 'source')
  const sourceContext = contextOf('sample_source_progress')
  const sourceReadings = await someAtOnce(ids, async (id) => ({
    id,
    reading: await readOfSource(id, source.readSampleSourceProgress(surveyId, id, sourceContext)),
  }))
  const sourceProgress = sourceReadings.flatMap(({ id, reading }) =>
    reading === null || reading.row === null
      ? []
      : [{ sampleSourceId: id, progress: reading.row, at: reading.readAt }],
  )
  const rows = sourceProgress.map((one) => one.progress)
  if (reusesList && !skip && refusals.isEmpty() && hasUnknownSource(stored, progress.row, rows))
    throw new OutdatedSourcesError(
      `the sources of survey ${surveyId} do not account for all of its interviews; the survey stays queued`,
    )
  const days =
    toRead === null
      ? null
      : await readDays({
          source,
          surveyId,
          context: contextOf('daily_progress'),
          toRead,
          readOfSource,
          refusals,
        })
  const readings = [progress, ...sourceReadings.map(({ reading }) => reading)]
  book.saved({
    sample_sources: reusesList ? 1 : 0,
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
    sourceProgressRead: skip ? 'none' : extentOf(reusesList || listed !== null, readings),
    ...(days === null ? {} : { days }),
    ...dataProblemsIn(answers),
  }
}

/** The bundle of a survey whose progress was refused: only its sources. */
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

/** `some` if sources may be unknown, or if the progress of one was refused or could not be typed. */
const extentOf = (isListKnown: boolean, readings: readonly (Reading<Progress> | null)[]): ReadExtent =>
  isListKnown && readings.every((one) => one !== null && one.row !== null) ? 'all' : 'some'

/**
 * Whether the progress of the sources need not be read: the sources and the survey's progress equal the stored ones, and the
 * stored progress of every source is recent enough.
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
  const withProgress = new Set(stored.sourceProgress.map((row) => row.sample_source_id))
  return (
    sources.ids.every((id) => withProgress.has(id)) &&
    sources.rows.every((row) => sameRow(row, storedById.get(row.id) ?? {}))
  )
}

const sameRow = (fresh: CellRow, stored: CellRow): boolean =>
  Object.entries(fresh).every(([name, cell]) => stored[name] === cell)
