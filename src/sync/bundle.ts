/**
 * Reads one survey's bundle: its sample sources (all pages), its progress, and the progress of each source. If one endpoint fails, the
 * answers of the others are kept (docs/decisions/bundles-and-refusals.md#0006-a-failed-request-is-a-failed-reading-of-one-endpoint).
 */
import { UpstreamError } from '../base/errors.js'
import type { Progress } from '../model/fields.js'
import type { Instant } from '../model/instant.js'
import type { RefreshRules } from '../model/run.js'
import { type ReadExtent, type Reading, RefusedReadingError } from '../model/survey-source.js'
import type { BundleOutcome, RefreshedBundle, StoredBundle } from '../model/warehouse.js'
import { ExplainedSum } from '../rules/explained-sum.js'
import { requestReasonOf, type Task } from '../rules/queue.js'
import { rulesFor } from '../rules/refresh.js'
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
import {
  agree,
  areSourcesKnown,
  canReuseList,
  hasSameRows,
  hasUnknownSource,
  isSameList,
  knownSources,
  readSources,
  type SourceList,
  showsListChanged,
} from './sources.js'
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
  readonly task: Pick<Task, 'surveyId' | 'reason' | 'isTouched' | 'isLeftOver' | 'refusals' | 'isUnseen'>
  readonly stored: StoredBundle
  readonly watch: Pick<EndpointWatch, 'answered' | 'failed' | 'isFailing'>
}

export interface BundleReading {
  readonly outcome: BundleOutcome
  /** The requests that the outcome follows from. */
  readonly readings: Readings
  /** Why nothing of the survey was read; null if a part was, or the survey is gone. */
  readonly failure: UpstreamError | null
}

/** How often a bundle is read in all when its list of sources proves to be outdated. */
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
      const attempt = { now, mayReuseList: reading === 1, isNotFoundRefusal, readings, requests }
      const outcome = await new BundleReader({ ...run, ...request, ...attempt }).read()
      if (outcome.kind !== 'failed') return { outcome, readings, failure: null }
      return { outcome, readings, failure: new UpstreamError('survey_unread', outcome.unread.error) }
    } catch (error) {
      if (!(error instanceof OutdatedSourcesError)) throw error
      if (reading === READINGS_MAX) {
        const unread = { error: error.message, isRefused: false }
        const failed = { kind: 'failed', surveyId: request.task.surveyId, unread, mayBeGone: false } as const
        const outcome = { ...failed, at: run.state.serverTime ?? 0n }
        // Failures of other requests say nothing about such a survey.
        return { outcome, readings: new Readings(request), failure: error }
      }
      isNotFoundRefusal ||= error.cause instanceof RefusedReadingError
    }
  }
}

interface Attempt extends BundleRun, BundleRequest {
  /** The latest server time before this bundle. */
  readonly now: Instant
  /** The stored sources may be used instead of the list. */
  readonly mayReuseList: boolean
  /** A 404 of a listed source is a refusal. Otherwise the source may have gone, and the list is read again. */
  readonly isNotFoundRefusal: boolean
  readonly readings: Readings
  /** Those of all readings of the bundle. */
  readonly requests: BundleRequests
}

const OF_SURVEY: ProgressRequest = { kind: 'survey_progress', sampleSourceId: null }
const ofSource = (id: number): ProgressRequest => ({ kind: 'sample_source_progress', sampleSourceId: id })

class BundleReader {
  readonly #attempt: Attempt
  readonly #surveyId: number
  readonly #rules: RefreshRules
  /** A source that is not found cannot have gone since it was listed. */
  #isListCurrent = true
  /** It has more sources than `limits.sources_per_survey_max`. */
  #hasTooMany = false
  /** Null as long as the known sources were not compared with a list. */
  #unlisted: UnlistedSources | null = null

  constructor(attempt: Attempt) {
    this.#attempt = attempt
    this.#surveyId = attempt.task.surveyId
    this.#rules = rulesFor(attempt.task.reason, attempt.rules.refresh)
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
    const { task, state, stored, watch, readings, now } = this.#attempt
    let reusesList = this.#mayReuseList()
    // The list is read first, so that the progress is at least as new.
    let listed = reusesList ? null : await this.#readList()
    // After a failure, the list may have been stored without the progress of its sources.
    const mayEnd = task.reason === 'sources' && !task.isLeftOver
    if (mayEnd && listed !== null && isSameList(stored, listed)) {
      const saved = { survey_progress: 1, sample_source_progress: listed.ids.length }
      state.requestUsage.saved(requestReasonOf(task), saved)
      return this.#refreshed(listed.readAt, listed)
    }
    let progress = await this.#readProgress(OF_SURVEY)
    // While no progress is answered, only the list shows whether the API answers at all, and whether sources changed.
    const isListNeeded =
      progress === null ? watch.isFailing('survey_progress') : showsListChanged(stored, task, progress.row)
    if (reusesList && isListNeeded) {
      reusesList = false
      listed = await this.#readList()
      // Otherwise sources may have changed between the two.
      if (progress !== null && listed !== null && !agree(stored, listed, progress.row))
        progress = await this.#readProgress(OF_SURVEY)
    }
    if (progress !== null)
      return await this.#readSources(progress, listed ?? knownSources(stored, reusesList ? 'none' : 'failed'))
    if (listed !== null) return this.#refreshed(listed.readAt, listed)
    if (task.reason === 'missing' && readings.areAllNotFound())
      return { kind: 'gone', surveyId: this.#surveyId, at: now }
    return this.#failed()
  }

  #mayReuseList(): boolean {
    const { task, stored, now, mayReuseList, rules } = this.#attempt
    const isShort = stored.sources.length <= rules.limits.sources_per_survey_max
    return isShort && mayReuseList && canReuseList(stored, task, now, this.#rules)
  }

  #failed(): BundleOutcome {
    const { readings, state } = this.#attempt
    const [unread, mayBeGone] = [readings.unread(), readings.mayBeGone()]
    return { kind: 'failed', surveyId: this.#surveyId, at: state.serverTime ?? 0n, unread, mayBeGone }
  }

  /** Null if it failed, or is too long. */
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

  /** Null if it failed. */
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
    const { task, state, stored, readings, requests, isNotFoundRefusal } = this.#attempt
    const surveyId = this.#surveyId
    if (this.#hasTooMany) {
      const own = { progress: progress.row, sourceProgress: [], sourceProgressRead: 'some' } as const
      return this.#refreshed(progress.readAt, listed, own)
    }
    const unlisted = await this.#readUnlisted(listed, progress.readAt)
    const sources = this.#compare(listed, unlisted)
    const explained = this.#explainedSum(sources, progress)
    const isBehind = task.isLeftOver && explained?.mustReadSome() === true
    const isUnchanged = explained !== null && !isBehind && hasSameRows(stored, sources, progress.row)
    const ids = isUnchanged ? [] : (explained?.ids ?? sources.ids)
    const present = [...sources.ids, ...unlisted.map(({ id }) => id)]
    const toRead = await this.#daysToRead(progress, isUnchanged, present)
    const requestsLeft = ids.length + (toRead?.days.length ?? 0)
    // What was read before in vain is read again in the next run.
    const requestsRead = Math.max(requests.answers.length, Math.max(1, sources.pages) + 1)
    requests.reserveRest(requestsLeft, requestsRead, progress.readAt)
    const reusesList = sources.read === 'none'
    this.#isListCurrent = sources.read === 'failed' || (!reusesList && isNotFoundRefusal)
    const maySuffice = toRead === null && task.reason !== 'missing'
    const ofSources = await this.#readProgressOf(ids, maySuffice ? explained : null)
    const isInferred = isUnchanged || ofSources.length < ids.length
    const sourceProgress = [...unlisted, ...ofSources].flatMap(({ id, reading }) =>
      isTyped(reading) ? [{ sampleSourceId: id, progress: reading.row, at: reading.readAt }] : [],
    )
    const rows = sourceProgress.map((one) => one.progress)
    const isWhole = !isInferred && readings.isComplete()
    if (reusesList && isWhole && hasUnknownSource(stored, progress.row, rows))
      throw new OutdatedSourcesError(
        `the sources of survey ${surveyId} do not account for all of its interviews; the survey stays queued`,
      )
    const days = toRead === null ? {} : { days: await readDays(toRead, (day) => this.#readDay(day)) }
    state.requestUsage.saved(requestReasonOf(task), {
      sample_sources: reusesList ? 1 : 0,
      sample_source_progress: sources.ids.length - ofSources.length,
      daily_progress: toRead?.unchanged ?? 0,
    })
    const begunAt = this.#attempt.parts?.begunAt ?? null
    if (begunAt !== null) return await this.#endParts(begunAt, sources, { sourceProgress, ...days })
    const ofAll = [progress, ...ofSources.map(({ reading }) => reading)]
    return this.#refreshed(progress.readAt, sources, {
      progress: progress.row,
      sourceProgress,
      sourceProgressRead: isInferred ? 'inferred' : extentOf(sources, ofAll),
      ...days,
    })
  }

  async #readUnlisted(listed: SourceList, at: Instant): Promise<readonly ReadSource[]> {
    const { stored, readings, requests } = this.#attempt
    const ids = unlistedIn(stored, listed)
    if (ids.length > 0) requests.reserveRest(ids.length + listed.ids.length, requests.answers.length, at)
    return await readUnlisted(ids, readings, (id) => requests.progress(ofSource(id)))
  }

  /** A list that lacks sources that have not gone counts as incomplete, so the next reading of the survey lists again. */
  #compare(listed: SourceList, found: readonly ReadSource[]): SourceList {
    const { stored, readings } = this.#attempt
    if (listed.listedIds === null) return listed
    this.#unlisted = compareUnlisted(stored, listed, found)
    const { ids, unconfirmed } = this.#unlisted
    if (unconfirmed > 0) readings.fail('sample_sources', new VanishedError(this.#surveyId, unconfirmed))
    return ids.length > 0 ? { ...listed, read: 'some' } : listed
  }

  /**
   * The progress of the survey is read once more, so that it is as new as the survey's row. The progress of its sources is of several
   * nights: nothing may be inferred from it.
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

  /** Null if the stored progress of the sources is no base to infer from which of them moved. */
  #explainedSum(sources: SourceList, progress: Reading<Progress>): ExplainedSum | null {
    const { stored, parts } = this.#attempt
    if (parts?.begunAt || unlistedIn(stored, sources).length > 0) return null
    if (progress.row === null || stored.progress === null) return null
    if (!areSourcesKnown(stored, sources, progress, this.#rules)) return null
    const shown = sources.pages === 0 ? stored.sources : sources.rows
    return new ExplainedSum(stored, shown, stored.progress, progress.row)
  }

  /** With a sum to explain, one after the other: most surveys are explained before the last source. */
  async #readProgressOf(
    ids: readonly number[],
    explained: ExplainedSum | null,
  ): Promise<readonly ReadSource[]> {
    const read = async (id: number): Promise<ReadSource> => {
      return { id, reading: await this.#readProgress(ofSource(id)) }
    }
    if (explained === null) return await someAtOnce(ids, read)
    const some: ReadSource[] = []
    for (const [place, id] of ids.entries()) {
      if (explained.isLost()) return [...some, ...(await someAtOnce(ids.slice(place), read))]
      if (this.#attempt.readings.isComplete() && explained.isExplained()) break
      const one = await read(id)
      explained.add(id, one.reading?.row ?? null)
      some.push(one)
    }
    return some
  }

  async #daysToRead(
    progress: Reading<Progress>,
    isUnchanged: boolean,
    sourceIds: readonly number[],
  ): Promise<DaysToRead | null> {
    const { daily_windows: dailyWindows } = this.#rules
    if (dailyWindows === null) return null
    const stored = await this.#attempt.warehouse.storedDays(this.#surveyId)
    return daysToRead(this.#rules, dailyWindows, { stored, progress, isUnchanged, sourceIds })
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
  (read === 'all' || read === 'none') && answers.every(isTyped) ? 'all' : 'some'
