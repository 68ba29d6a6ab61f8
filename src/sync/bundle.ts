/**
 * Reads one survey's bundle: its sample sources (all pages), its progress, and the progress of each source. If one endpoint fails, the
 * answers of the others are kept (docs/decisions/bundles-and-refusals.md#0006-a-failed-request-is-a-failed-reading-of-one-endpoint).
 */
import { UpstreamError } from '../base/errors.js'
import type { Progress } from '../model/fields.js'
import type { Instant } from '../model/instant.js'
import { type ReadExtent, type Reading, RefusedReadingError } from '../model/survey-source.js'
import type { BundleOutcome, RefreshedBundle, StoredBundle } from '../model/warehouse.js'
import { ageMs } from '../rules/believed.js'
import { requestReasonOf, type Task } from '../rules/queue.js'
import { isReadWhole, readsSources } from '../rules/refresh.js'
import { type DaysToRead, daysToRead, type SeriesDay } from '../rules/windows.js'
import { readDays } from './bundle-days.js'
import {
  BundleRequests,
  type BundleRequestsOptions,
  OversizedError,
  type ProgressRequest,
  TooManySourcesError,
} from './bundle-requests.js'
import type { EndpointWatch } from './failure-watch.js'
import { checkListedSource, isTyped, OutdatedSourcesError, Readings } from './readings.js'
import type { Run } from './run-state.js'
import { someAtOnce } from './some-at-once.js'
import { equalsStored, knownSources, readSources, type SourceList } from './sources.js'
import {
  compareUnlisted,
  type ReadSource,
  readUnlisted,
  type UnlistedSources,
  unlistedIn,
  VanishedError,
} from './unlisted-sources.js'

type BundleRun = Omit<Run, 'budget' | 'requests'>

interface BundleRequest extends BundleRequestsOptions {
  readonly task: Pick<Task, 'surveyId' | 'reason' | 'isNightly' | 'isLeftOver' | 'refusals' | 'isUnseen'>
  readonly stored: StoredBundle
  readonly watch: Pick<EndpointWatch, 'answered' | 'failed' | 'isFailing'>
}

export interface BundleReading {
  readonly outcome: BundleOutcome
  /** The readings from which the outcome follows. */
  readonly readings: Readings
  /** Why nothing of the survey was read; null if a part was read, or the survey is gone. */
  readonly failure: UpstreamError | null
}

/** How often a bundle is read at most, if its list of sources proves to be outdated. */
const READINGS_MAX = 3

/** Throws the errors that end the run. */
export const readBundle = async (run: BundleRun, request: BundleRequest): Promise<BundleReading> => {
  // After a refusal in an earlier run, a 404 counts as another refusal.
  let isNotFoundRefusal = request.task.refusals > 0
  const requests = new BundleRequests(run, request)
  const now = run.state.serverTime ?? 0n
  for (let reading = 1; ; reading += 1) {
    try {
      const readings = new Readings(request)
      const attempt = { now, isNotFoundRefusal, readings, requests }
      const outcome = await new BundleReader({ ...run, ...request, ...attempt }).read()
      if (outcome.kind !== 'failed') return { outcome, readings, failure: null }
      return { outcome, readings, failure: new UpstreamError('survey_unread', outcome.unread.error) }
    } catch (error) {
      if (!(error instanceof OutdatedSourcesError)) throw error
      if (reading === READINGS_MAX) {
        const unread = { error: error.message, isRefused: false }
        const failed = { kind: 'failed', surveyId: request.task.surveyId, unread, mayBeGone: false } as const
        const outcome = { ...failed, at: run.state.serverTime ?? 0n }
        // For an oversized survey, failures of other requests do not count.
        return { outcome, readings: new Readings(request), failure: error }
      }
      isNotFoundRefusal ||= error.cause instanceof RefusedReadingError
    }
  }
}

interface Attempt extends BundleRun, BundleRequest {
  /** The latest server time before this bundle. */
  readonly now: Instant
  /** Whether a 404 of a listed source counts as a refusal. If not, the source may have gone, and the list is read again. */
  readonly isNotFoundRefusal: boolean
  readonly readings: Readings
  /** The requests of all readings of the bundle. */
  readonly requests: BundleRequests
}

const OF_SURVEY: ProgressRequest = { kind: 'survey_progress', sampleSourceId: null }
const ofSource = (id: number): ProgressRequest => ({ kind: 'sample_source_progress', sampleSourceId: id })

class BundleReader {
  readonly #attempt: Attempt
  readonly #surveyId: number
  /** Whether the list is so new that a source that is not found cannot have gone since. */
  #isListCurrent = true
  /** Whether the survey has more sources than `limits.sources_per_survey_max`. */
  #hasTooMany = false
  /** Null until the known sources are compared with a list. */
  #unlisted: UnlistedSources | null = null

  constructor(attempt: Attempt) {
    this.#attempt = attempt
    this.#surveyId = attempt.task.surveyId
  }

  async read(): Promise<BundleOutcome> {
    try {
      return await this.#read()
    } catch (error) {
      if (!(error instanceof OversizedError)) throw error
      const { requestsNeeded, at } = error
      return { kind: 'oversized', surveyId: this.#surveyId, at, requestsNeeded }
    }
  }

  async #read(): Promise<BundleOutcome> {
    const { task, stored, readings, now } = this.#attempt
    // The list is read first, so that the progress is at least as new.
    const listed = await this.#readList()
    const progress = await this.#readProgress(OF_SURVEY)
    if (progress !== null) return await this.#readSources(progress, listed ?? knownSources(stored))
    if (listed !== null) return this.#refreshed(listed.readAt, listed)
    if (task.reason === 'missing' && readings.areAllNotFound())
      return { kind: 'gone', surveyId: this.#surveyId, at: now }
    return this.#failed()
  }

  #failed(): BundleOutcome {
    const { readings, state } = this.#attempt
    const [unread, mayBeGone] = [readings.unread(), readings.mayBeGone()]
    return { kind: 'failed', surveyId: this.#surveyId, at: state.serverTime ?? 0n, unread, mayBeGone }
  }

  /** Null if the list failed, or is too long. */
  async #readList(): Promise<SourceList | null> {
    const { warehouse, log, readings, requests } = this.#attempt
    const fields = { account: warehouse.account, surveyId: this.#surveyId }
    const readPage = (page: number) => requests.sourcesPage(page)
    const warn = (problem: string) => log.warn(fields, problem)
    const list = readSources(this.#surveyId, readPage, warn).catch((error: unknown) => {
      if (!(error instanceof TooManySourcesError)) throw error
      this.#hasTooMany = true
      readings.fail('sample_sources', error)
      return null
    })
    return await readings.passOver('sample_sources', list)
  }

  /** Null if the reading failed. */
  #readProgress(request: ProgressRequest): Promise<Reading<Progress> | null> {
    const { requests, readings } = this.#attempt
    const { kind, sampleSourceId } = request
    const reading = requests.progress(request)
    const isCertain = sampleSourceId === null || this.#isListCurrent
    const checked = isCertain ? reading : checkListedSource(this.#surveyId, sampleSourceId, reading)
    return readings.passOver(kind, checked)
  }

  /** The progress of each source, and the days. */
  async #readSources(progress: Reading<Progress>, listed: SourceList): Promise<BundleOutcome> {
    const { task, state, requests, isNotFoundRefusal } = this.#attempt
    if (this.#hasTooMany) {
      const own = { progress: progress.row, sourceProgress: [], sourceProgressRead: 'some' } as const
      return this.#refreshed(progress.readAt, listed, own)
    }
    const unlisted = await this.#readUnlisted(listed, progress.readAt)
    const sources = this.#compare(listed, unlisted)
    const isUnchanged = !this.#mustReadSources(sources, progress)
    const ids = isUnchanged ? [] : sources.ids
    const present = [...sources.ids, ...unlisted.map(({ id }) => id)]
    const toRead = await this.#daysToRead(progress, isUnchanged, present)
    const requestsLeft = ids.length + (toRead?.days.length ?? 0)
    // Answers that were read but do not count are requested again in the next run.
    const requestsRead = Math.max(requests.answers.length, Math.max(1, sources.pages) + 1)
    requests.reserveRest(requestsLeft, requestsRead, progress.readAt)
    this.#isListCurrent = sources.read === 'failed' || isNotFoundRefusal
    const ofSources = await someAtOnce(ids, async (id): Promise<ReadSource> => {
      return { id, reading: await this.#readProgress(ofSource(id)) }
    })
    const sourceProgress = [...unlisted, ...ofSources].flatMap(({ id, reading }) =>
      isTyped(reading) ? [{ sampleSourceId: id, progress: reading.row, at: reading.readAt }] : [],
    )
    const days = toRead === null ? {} : { days: await readDays(toRead, (day) => this.#readDay(day)) }
    state.requestUsage.saved(requestReasonOf(task), {
      sample_source_progress: sources.ids.length - ofSources.length,
      daily_progress: toRead?.unchanged ?? 0,
    })
    const begunAt = this.#attempt.parts?.begunAt ?? null
    if (begunAt !== null) return await this.#endParts(begunAt, sources, { sourceProgress, ...days })
    const ofAll = [progress, ...ofSources.map(({ reading }) => reading)]
    return this.#refreshed(progress.readAt, sources, {
      progress: progress.row,
      sourceProgress,
      sourceProgressRead: isUnchanged ? 'unchanged' : extentOf(sources, ofAll),
      ...days,
    })
  }

  #mustReadSources(sources: SourceList, progress: Reading<Progress>): boolean {
    const { task, stored, parts, rules } = this.#attempt
    if (parts?.begunAt || isReadWhole(task.reason)) return true
    const reading = {
      isNightly: task.isNightly,
      isUnchanged: equalsStored(stored, sources, progress.row),
      ageMs: ageMs(stored.sourceProgressReadAt, progress.readAt),
    }
    return readsSources(reading, rules.refresh)
  }

  async #readUnlisted(listed: SourceList, at: Instant): Promise<readonly ReadSource[]> {
    const { stored, readings, requests } = this.#attempt
    const ids = unlistedIn(stored, listed)
    if (ids.length > 0) requests.reserveRest(ids.length + listed.ids.length, requests.answers.length, at)
    return await readUnlisted(ids, readings, (id) => requests.progress(ofSource(id)))
  }

  /** If a list lacks sources that have not gone, the list counts as incomplete. */
  #compare(listed: SourceList, answered: readonly ReadSource[]): SourceList {
    const { stored, readings } = this.#attempt
    if (listed.listedIds === null) return listed
    this.#unlisted = compareUnlisted(stored, listed, answered)
    const { ids, unconfirmed } = this.#unlisted
    if (unconfirmed > 0) readings.fail('sample_sources', new VanishedError(this.#surveyId, unconfirmed))
    return ids.length > 0 ? { ...listed, read: 'some' } : listed
  }

  /**
   * The progress of the survey is read once more, so that it is as new as the survey's row. The progress of its sources comes from several
   * nights, so it does not count as known.
   */
  async #endParts(
    begunAt: Instant,
    sources: SourceList,
    parts: Pick<RefreshedBundle, 'sourceProgress' | 'days'>,
  ): Promise<BundleOutcome> {
    const latest = await this.#readProgress({ ...OF_SURVEY, isNew: true })
    if (latest === null) return this.#failed()
    const more = { ...parts, progress: latest.row, sourceProgressRead: 'some' } as const
    return { ...this.#refreshed(latest.readAt, sources, more), sourcesAt: sources.readAt, begunAt }
  }

  async #daysToRead(
    progress: Reading<Progress>,
    isUnchanged: boolean,
    sourceIds: readonly number[],
  ): Promise<DaysToRead | null> {
    const { refresh } = this.#attempt.rules
    const { daily_windows: dailyWindows } = refresh
    if (dailyWindows === null) return null
    const stored = await this.#attempt.warehouse.storedDays(this.#surveyId)
    return daysToRead(refresh, dailyWindows, { stored, progress, isUnchanged, sourceIds })
  }

  #readDay({ sampleSourceId, day }: SeriesDay): Promise<Reading<Progress> | null> {
    return this.#readProgress({ kind: 'daily_progress', sampleSourceId, window: day })
  }

  #refreshed(
    at: Instant,
    sources: SourceList,
    more: Pick<RefreshedBundle, 'progress' | 'sourceProgress' | 'sourceProgressRead' | 'days'> = {
      progress: null,
      sourceProgress: [],
      sourceProgressRead: 'none',
    },
  ): RefreshedBundle {
    const { readings, requests, stored } = this.#attempt
    const { ids: present, answering = null } = this.#unlisted ?? { ids: unlistedIn(stored, sources) }
    return {
      kind: 'refreshed',
      surveyId: this.#surveyId,
      at,
      unread: readings.isComplete() ? null : readings.unread(),
      sourcesRead: sources.read,
      sources: sources.rows,
      ...(sources.readAt > at && { sourcesAt: sources.readAt }),
      listedSourceIds: sources.listedIds && [...sources.listedIds, ...present],
      ...(answering !== null && { unlistedSources: { ids: present, answering } }),
      ...more,
      rejections: requests.answers.flatMap(({ rejections }) => rejections),
      drift: requests.answers.flatMap(({ drift }) => drift),
    }
  }
}

/** `some` if there may be other sources, or the progress of the survey or of a source was not read, or could not be typed. */
const extentOf = ({ read }: SourceList, answers: readonly (Reading<Progress> | null)[]): ReadExtent =>
  read === 'all' && answers.every(isTyped) ? 'all' : 'some'
