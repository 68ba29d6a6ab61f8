/**
 * Reads one survey's bundle: its sample sources (all pages), its progress, and the progress of each source. They belong
 * together and are committed together.
 */
import type { Progress } from '../model/fields.js'
import { type Instant, msBetween } from '../model/instant.js'
import { rulesFor } from '../model/refresh-rules.js'
import type { RefreshRules, TaskReason } from '../model/run.js'
import type { SpendingKind } from '../model/spending.js'
import { NotFoundError, type Reading } from '../model/survey-source.js'
import type { CellRow, GoneSurvey, OversizedTask, RefreshedBundle, StoredBundle } from '../model/warehouse.js'
import { someAtOnce } from './at-once.js'
import type { BundleAllowance } from './budget.js'
import { daysToRead, readDays } from './days.js'
import type { RunDependencies } from './dependencies.js'
import { interviewsElsewhere, mayRestSources, targetMoved } from './known-sources.js'
import { OutdatedSourcesError, ofListedSource } from './outdated-sources.js'
import { knownSources, readSources, type SourceList } from './sources.js'
import type { ReasonBook } from './spending.js'

export interface BundleRequest {
  readonly surveyId: number
  /** Why it is read. */
  readonly reason: TaskReason
  /** The latest time that the server told before this bundle. */
  readonly now: Instant
  readonly allowance: BundleAllowance
  readonly signal: AbortSignal
  readonly book: ReasonBook
}

/** Of the same bundle, where its list of sources turned out not to be the current one. */
const READINGS_MAX = 3

/**
 * Throws what the source throws, except for a 404 of the survey, which is an outcome. `oversized`: the budget does not
 * reach for the requests per source.
 */
export const readBundle = async (
  dependencies: RunDependencies,
  request: BundleRequest,
): Promise<RefreshedBundle | GoneSurvey | OversizedTask> => {
  for (let reading = 1; ; reading += 1) {
    try {
      return await readOnce(dependencies, request, reading === 1)
    } catch (error) {
      if (error instanceof OutdatedSourcesError && reading < READINGS_MAX) continue
      if (error instanceof NotFoundError) return { kind: 'gone', surveyId: request.surveyId, at: request.now }
      throw error
    }
  }
}

const readOnce = async (
  { source, warehouse, rules }: RunDependencies,
  request: BundleRequest,
  mayRest: boolean,
): Promise<RefreshedBundle | OversizedTask> => {
  const { surveyId, allowance, signal, book } = request
  const refresh = rulesFor(request.reason, rules.refresh)
  const on = (kind: SpendingKind) => ({ signal, allowance: book.counting(allowance, kind) })
  const stored = await warehouse.storedBundle(surveyId)
  const rests = mayRest && mayRestSources(stored, request.reason, request.now, refresh)
  // Before the progress, for the date of a bundle is that of its progress: no row of it was read later than it says.
  const sources = rests ? knownSources(stored) : await readSources(source, surveyId, on('sample_sources'))
  const progress = await source.readSurveyProgress(surveyId, on('survey_progress'))
  if (rests && targetMoved(stored, progress.row))
    throw new OutdatedSourcesError(`the target of survey ${surveyId} keeps changing; it stays queued`)
  const skip = canSkipSources(stored, sources, progress, refresh)
  const ids = skip ? [] : sources.ids
  const toRead =
    refresh.dailyWindows === null
      ? null
      : daysToRead(refresh, refresh.dailyWindows, {
          stored: await warehouse.storedDays(surveyId),
          progress,
          isUnchanged: skip,
          sourceIds: sources.ids,
        })
  const rest = ids.length + (toRead?.days.length ?? 0)
  if (!allowance.reserveRest(rest)) {
    return {
      kind: 'oversized',
      surveyId,
      at: progress.readAt,
      requestsNeeded: Math.max(1, sources.pages) + 1 + rest,
    }
  }
  const perSource = on('sample_source_progress')
  const each = await someAtOnce(ids, async (id) => ({
    id,
    reading: await ofListedSource(surveyId, id, source.readSampleSourceProgress(surveyId, id, perSource)),
  }))
  const sourceProgress = each.flatMap(({ id, reading }) =>
    reading.row === null ? [] : [{ sampleSourceId: id, progress: reading.row, at: reading.readAt }],
  )
  if (sources.read === 'none' && !skip) {
    const rows = sourceProgress.map((one) => one.progress)
    if (interviewsElsewhere(stored, progress.row, rows))
      throw new OutdatedSourcesError(
        `the sources of survey ${surveyId} do not account for all of its interviews; it stays queued`,
      )
  }
  const daily =
    toRead === null ? null : await readDays({ source, surveyId, context: on('daily_progress'), toRead })
  const answers = [
    sources,
    progress,
    ...each.map(({ reading }) => reading),
    ...(daily === null ? [] : daily.readings),
  ]
  book.saved({
    sample_sources: rests ? 1 : 0,
    sample_source_progress: sources.ids.length - ids.length,
    daily_progress: toRead?.unchanged ?? 0,
  })
  return {
    kind: 'refreshed',
    surveyId,
    at: progress.readAt,
    sourcesRead: sources.read,
    sources: sources.rows,
    listedSourceIds: sources.listedIds,
    progress: progress.row,
    sourceProgress,
    sourceProgressRead: skip
      ? 'none'
      : allTyped([progress, ...each.map(({ reading }) => reading)])
        ? 'all'
        : 'some',
    ...(daily === null ? {} : { days: daily.days }),
    rejections: answers.flatMap(({ rejections }) => rejections),
    drift: answers.flatMap(({ drift }) => drift),
  }
}

const allTyped = (readings: readonly Reading<Progress>[]): boolean =>
  readings.every(({ row }) => row !== null)

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
  if (sources.read === 'some' || stored.sourceProgressReadAt === null) return false
  if (msBetween(stored.sourceProgressReadAt, progress.readAt) >= rules.recheckUnchangedAfterMs) return false
  if (!sameRow(progress.row, stored.progress) || sources.ids.length !== stored.sources.length) return false
  const storedById = new Map(stored.sources.map((row) => [row.id, row]))
  return (
    sources.ids.every((id) => stored.sourcesWithProgress.includes(id)) &&
    sources.rows.every((row) => sameRow(row, storedById.get(row.id) ?? {}))
  )
}

const sameRow = (fresh: CellRow, stored: CellRow): boolean =>
  Object.entries(fresh).every(([name, cell]) => stored[name] === cell)
