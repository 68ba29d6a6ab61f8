/**
 * Reads one survey's bundle: its sample sources (all pages), its progress, and the progress of each source. They belong
 * together and are committed together.
 */
import pLimit from 'p-limit'
import { UpstreamError } from '../base/errors.js'
import type { Progress } from '../model/fields.js'
import { type Instant, msBetween } from '../model/instant.js'
import type { RefreshRules } from '../model/run.js'
import { NotFoundError, type Reading } from '../model/survey-source.js'
import type { CellRow, GoneSurvey, OversizedTask, RefreshedBundle, StoredBundle } from '../model/warehouse.js'
import type { BundleAllowance } from './budget.js'
import type { RunDependencies } from './dependencies.js'
import { readSources, type SourceList } from './sources.js'

export interface BundleRequest {
  readonly surveyId: number
  /** The latest time that the server told before this bundle. */
  readonly now: Instant
  readonly allowance: BundleAllowance
  readonly signal: AbortSignal
}

/** A source was listed, and its progress is not there. It went meanwhile: the list is read again. */
export class SourceGoneError extends UpstreamError {
  readonly code = 'source_gone'
  readonly endsRun = false
}

const SOURCE_LISTINGS_MAX = 3

/** Requests of one bundle that are under way at once; the client bounds those of all bundles. */
const REQUESTS_AT_ONCE = 8

/**
 * Throws what the source throws, except for a 404 of the survey, which is an outcome. `oversized`: the budget does not
 * reach for the requests per source.
 */
export const readBundle = async (
  dependencies: RunDependencies,
  request: BundleRequest,
): Promise<RefreshedBundle | GoneSurvey | OversizedTask> => {
  for (let listing = 1; ; listing += 1) {
    try {
      return await readOnce(dependencies, request)
    } catch (error) {
      if (error instanceof SourceGoneError && listing < SOURCE_LISTINGS_MAX) continue
      if (error instanceof NotFoundError) return { kind: 'gone', surveyId: request.surveyId, at: request.now }
      throw error
    }
  }
}

const readOnce = async (
  { source, warehouse, rules }: RunDependencies,
  request: BundleRequest,
): Promise<RefreshedBundle | OversizedTask> => {
  const { surveyId, allowance } = request
  const sources = await readSources(source, surveyId, request)
  const progress = await source.readSurveyProgress(surveyId, request)
  const head = { surveyId, at: progress.readAt, sources: sources.rows, listedSourceIds: sources.listedIds }
  const stored = await warehouse.storedBundle(surveyId)
  const skip = canSkipSources(stored, sources, progress, rules.refresh)
  const ids = skip ? [] : sources.rows.map(({ id }) => id)
  if (!allowance.reserveRest(ids.length)) {
    return {
      kind: 'oversized',
      surveyId,
      at: progress.readAt,
      requestsNeeded: sources.pages + 1 + ids.length,
    }
  }
  const each = await Promise.all(readEach({ source, ids, request }))
  const answers = [sources, progress, ...each.map(({ reading }) => reading)]
  return {
    kind: 'refreshed',
    ...head,
    progress: progress.row,
    sourceProgress: each.flatMap(({ id, reading }) =>
      reading.row === null ? [] : [{ sampleSourceId: id, progress: reading.row, at: reading.readAt }],
    ),
    sourceProgressRead: skip
      ? 'none'
      : allTyped([progress, ...each.map(({ reading }) => reading)])
        ? 'all'
        : 'some',
    rejections: answers.flatMap(({ rejections }) => rejections),
    drift: answers.flatMap(({ drift }) => drift),
  }
}

const allTyped = (readings: readonly Reading<Progress>[]): boolean =>
  readings.every(({ row }) => row !== null)

interface EachSource {
  readonly source: RunDependencies['source']
  readonly ids: readonly number[]
  readonly request: BundleRequest
}

/** When one fails the rest is given up: those that wait never start. */
const readEach = ({ source, ids, request }: EachSource) => {
  const atOnce = pLimit(REQUESTS_AT_ONCE)
  return ids.map((id) =>
    atOnce(async (): Promise<{ readonly id: number; readonly reading: Reading<Progress> }> => {
      try {
        return { id, reading: await source.readSampleSourceProgress(request.surveyId, id, request) }
      } catch (error) {
        atOnce.clearQueue()
        if (!(error instanceof NotFoundError)) throw error
        throw new SourceGoneError(
          `source ${id} of survey ${request.surveyId} is listed, but its progress is not found; it stays queued`,
          { cause: error },
        )
      }
    }),
  )
}

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
  if (sources.rejections.length > 0 || stored.sourceProgressReadAt === null) return false
  if (msBetween(stored.sourceProgressReadAt, progress.readAt) >= rules.recheckUnchangedAfterMs) return false
  if (!sameRow(progress.row, stored.progress) || sources.rows.length !== stored.sources.length) return false
  const storedById = new Map(stored.sources.map((row) => [row.id, row]))
  return sources.rows.every(
    (row) => stored.sourcesWithProgress.includes(row.id) && sameRow(row, storedById.get(row.id) ?? {}),
  )
}

const sameRow = (fresh: CellRow, stored: CellRow): boolean =>
  Object.entries(fresh).every(([name, cell]) => stored[name] === cell)
