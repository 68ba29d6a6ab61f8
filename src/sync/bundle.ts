/**
 * Reads one survey's bundle: its sample sources (all pages), its progress, and the progress of each source. If one endpoint fails, the
 * answers of the others are kept (docs/decisions/bundles-and-refusals.md#0006-a-failed-request-is-a-failed-reading-of-one-endpoint).
 */
import pLimit from 'p-limit'
import type { RequestContext } from '../base/allowance.js'
import { isStop, UpstreamError } from '../base/errors.js'
import type { Window } from '../model/calendar.js'
import type { Progress, SampleSource } from '../model/fields.js'
import type { Instant } from '../model/instant.js'
import type { SurveyKind } from '../model/request-usage.js'
import type { RefreshRules } from '../model/run.js'
import {
  type Answer,
  type Page,
  type ReadExtent,
  type Reading,
  RefusedReadingError,
} from '../model/survey-source.js'
import type { BundleOutcome, ReadDays, RefreshedBundle, StoredBundle } from '../model/warehouse.js'
import { ExplainedSum } from '../rules/explained-sum.js'
import { requestReasonOf, type Task } from '../rules/queue.js'
import { rulesFor } from '../rules/refresh.js'
import { type DaysToRead, daysToRead, type SeriesDay } from '../rules/windows.js'
import type { BundleAllowance } from './budget.js'
import type { EndpointWatch } from './failure-watch.js'
import type { SurveyParts } from './parts.js'
import { checkListedSource, isNotFound, OutdatedSourcesError, Readings } from './readings.js'
import type { Run } from './run-state.js'
import {
  agree,
  areSourcesKnown,
  canReuseList,
  goneSources,
  hasSameRows,
  hasUnknownSource,
  isSameList,
  knownSources,
  readSources,
  type SourceList,
  showsListChanged,
  unlistedIn,
} from './sources.js'

type BundleRun = Omit<Run, 'budget'>

interface BundleRequest {
  readonly task: Pick<Task, 'surveyId' | 'reason' | 'isTouched' | 'isLeftOver' | 'refusals'>
  readonly stored: StoredBundle
  readonly allowance: BundleAllowance
  readonly watch: Pick<EndpointWatch, 'answered' | 'failed' | 'isFailing'>
  /** Null if it is read as a whole. */
  readonly parts?: SurveyParts | null
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
  const answers: Answer[] = []
  const now = run.state.serverTime ?? 0n
  for (let reading = 1; ; reading += 1) {
    try {
      const readings = new Readings(request)
      const attempt = { now, mayReuseList: reading === 1, isNotFoundRefusal, readings, answers }
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
  /** Of all readings. A repeated one drops the rows of the first, whose rejections and drift events are still stored. */
  readonly answers: Answer[]
}

interface ReadSource {
  readonly id: number
  /** Null if it failed. */
  readonly reading: Reading<Progress> | null
}

interface ProgressOptions {
  readonly window?: Window
  readonly isNew?: boolean
}

class BundleReader {
  readonly #attempt: Attempt
  readonly #surveyId: number
  readonly #rules: RefreshRules
  /** A source that is not found cannot have gone since it was listed. */
  #isListCurrent = true
  /** It has more sources than `limits.sources_per_survey_max`. */
  #hasTooMany = false
  /** Known sources that the list lacks, and that have gone. */
  #gone: ReadonlySet<number> = new Set()
  /** Left out as long as the known sources were not compared with a list. */
  #unlistedSources: Pick<RefreshedBundle, 'unlistedSources'> = {}

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
    let progress = await this.#readProgress('survey_progress', null)
    // While no progress is answered, only the list shows whether the API answers at all, and whether sources changed.
    const isListNeeded =
      progress === null ? watch.isFailing('survey_progress') : showsListChanged(stored, task, progress.row)
    if (reusesList && isListNeeded) {
      reusesList = false
      listed = await this.#readList()
      // Otherwise sources may have changed between the two.
      if (progress !== null && listed !== null && !agree(stored, listed, progress.row))
        progress = await this.#readProgress('survey_progress', null)
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
    const { source, warehouse, log, readings } = this.#attempt
    const fields = { account: warehouse.account, surveyId: this.#surveyId }
    const context = this.#context('sample_sources')
    const readPage = async (page: number) => {
      const read = await this.#keep(source.listSampleSources(this.#surveyId, page, context))
      if (page === 1) this.#checkSize(read)
      return read
    }
    const warn = (problem: string) => log.warn(fields, problem)
    const list = readSources(this.#surveyId, readPage, warn).catch((error: unknown) => {
      if (!(error instanceof TooManySourcesError)) throw error
      this.#hasTooMany = true
      readings.fail('sample_sources', error)
      return null
    })
    return await readings.passOver('sample_sources', list)
  }

  /** The first page says how many requests the others and their sources take. Throws what keeps them from being sent. */
  #checkSize({ pagination: { total_pages: pages, total_count: sources }, readAt }: Page<SampleSource>): void {
    const { allowance, parts, rules } = this.#attempt
    const sourcesMax = rules.limits.sources_per_survey_max
    if (sources > sourcesMax) throw new TooManySourcesError(this.#surveyId, sources, sourcesMax)
    const requestsNeeded = pages + 1 + sources
    if (parts) parts.requestsNeeded = requestsNeeded
    // Without further pages, the sources that need a request are counted later.
    if (pages > 1 && !allowance.reserveRest(requestsNeeded - 1))
      throw new OversizedError(requestsNeeded, readAt)
  }

  /** Null if it failed. */
  #readProgress(
    kind: SurveyKind,
    sampleSourceId: number | null,
    options: ProgressOptions = {},
  ): Promise<Reading<Progress> | null> {
    const reading = this.#requestProgress(kind, sampleSourceId, options)
    const isCertain = sampleSourceId === null || this.#isListCurrent
    const checked = isCertain ? reading : checkListedSource(this.#surveyId, sampleSourceId, reading)
    return this.#attempt.readings.passOver(kind, checked)
  }

  #requestProgress(
    kind: SurveyKind,
    sampleSourceId: number | null,
    { window, isNew = false }: ProgressOptions = {},
  ): Promise<Reading<Progress>> {
    const query = { surveyId: this.#surveyId, sampleSourceId, window }
    const context = { ...this.#context(kind), ...(isNew && { kept: undefined }) }
    return this.#keep(this.#attempt.source.readProgress(query, context))
  }

  async #keep<Result extends Answer>(reading: Promise<Result>): Promise<Result> {
    const answer = await reading
    this.#attempt.answers.push(answer)
    return answer
  }

  /** The context is made for each request: the watch may have seen failures since. */
  #context(kind: SurveyKind): RequestContext {
    const { task, signal, allowance, state, watch, parts } = this.#attempt
    return {
      ...(parts && { kept: parts }),
      signal,
      allowance: state.requestUsage.counting(allowance, kind, requestReasonOf(task)),
      attemptsMax: watch.isFailing(kind) ? 1 : undefined,
    }
  }

  /** The progress of each source, and the days. */
  async #readSources(progress: Reading<Progress>, listed: SourceList): Promise<BundleOutcome> {
    const { task, state, stored, readings, answers, isNotFoundRefusal } = this.#attempt
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
    const requestsRead = Math.max(answers.length, Math.max(1, sources.pages) + 1)
    this.#reserve(requestsLeft, requestsRead, progress.readAt)
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
    const days = toRead === null ? {} : { days: await this.#readDays(toRead) }
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

  /** The progress of the known sources that the list lacks, without those that are not found. */
  async #readUnlisted(listed: SourceList, at: Instant): Promise<readonly ReadSource[]> {
    const kind = 'sample_source_progress'
    const ids = unlistedIn(this.#attempt.stored, listed)
    if (ids.length > 0) this.#reserve(ids.length + listed.ids.length, this.#attempt.answers.length, at)
    const read = await someAtOnce(ids, async (id): Promise<readonly ReadSource[]> => {
      const reading = this.#requestProgress(kind, id)
      const isGone = await reading.then(() => false, isNotFound)
      return isGone ? [] : [{ id, reading: await this.#attempt.readings.passOver(kind, reading) }]
    })
    return read.flat()
  }

  /** Decides which of them have gone. A list that lacks others counts as incomplete, so the next reading of the survey lists again. */
  #compare(listed: SourceList, unlisted: readonly ReadSource[]): SourceList {
    const { stored, readings } = this.#attempt
    if (listed.listedIds === null) return listed
    const unlistedIds = unlistedIn(stored, listed)
    const found = new Set(unlisted.map(({ id }) => id))
    const notFound = unlistedIds.filter((id) => !found.has(id))
    this.#gone = goneSources(stored, notFound)
    const ids = unlistedIds.filter((id) => !this.#gone.has(id))
    const answering = unlisted.filter(({ reading }) => reading !== null).length
    this.#unlistedSources = { unlistedSources: { ids, answering } }
    const unconfirmed = notFound.length - this.#gone.size
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
    const latest = await this.#readProgress('survey_progress', null, { isNew: true })
    if (latest === null) return this.#failed()
    const more = { ...parts, progress: latest.row, sourceProgressRead: 'some' } as const
    return { ...this.#refreshed(latest.readAt, sources, more), sourcesAt: sources.readAt, begunAt }
  }

  /** Throws if the rest of the bundle does not fit. */
  #reserve(requestsLeft: number, requestsRead: number, at: Instant): void {
    const { allowance, parts } = this.#attempt
    const requestsNeeded = requestsRead + requestsLeft
    if (parts) parts.requestsNeeded = requestsNeeded
    if (!allowance.reserveRest(requestsLeft)) throw new OversizedError(requestsNeeded, at)
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
      return { id, reading: await this.#readProgress('sample_source_progress', id) }
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

  /** A day that fails is left out. */
  async #readDays(toRead: DaysToRead): Promise<ReadDays> {
    const answers = await someAtOnce(toRead.days, async ({ sampleSourceId, day }) => {
      const reading = await this.#readProgress('daily_progress', sampleSourceId, { window: day })
      return { sampleSourceId, day, reading }
    })
    const unread = answers.filter(({ reading }) => !isTyped(reading))
    const isOfSurvey = ({ sampleSourceId }: SeriesDay): boolean => sampleSourceId === null
    return {
      read: unread.some(isOfSurvey) ? 'some' : toRead.ofSurvey,
      sourcesRead: unread.every(isOfSurvey) ? toRead.ofSources : 'some',
      timeZone: toRead.timeZone,
      rows: answers.flatMap(({ sampleSourceId, day, reading }) =>
        isTyped(reading) ? [{ sampleSourceId, day, progress: reading.row, at: reading.readAt }] : [],
      ),
    }
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
    const { readings, answers, stored } = this.#attempt
    const present = unlistedIn(stored, sources).filter((id) => !this.#gone.has(id))
    return {
      kind: 'refreshed',
      surveyId: this.#surveyId,
      at,
      unread: readings.isComplete() ? null : readings.unread(),
      sourcesRead: sources.read,
      sources: sources.rows,
      ...(sources.readAt > at && { sourcesAt: sources.readAt }),
      listedSourceIds: sources.listedIds && [...sources.listedIds, ...present],
      ...this.#unlistedSources,
      ...more,
      rejections: answers.flatMap(({ rejections }) => rejections),
      drift: answers.flatMap(({ drift }) => drift),
    }
  }
}

/** So many sources are gone only when another complete list agrees. */
class VanishedError extends UpstreamError {
  constructor(surveyId: number, sources: number) {
    super(
      'unstable_list',
      `${sources} sources of survey ${surveyId} vanished from its list at once, and answer 404; they are missing when the next complete list agrees`,
    )
  }
}

/** It has more sources than the settings allow. Its own progress is read. */
class TooManySourcesError extends UpstreamError {
  constructor(surveyId: number, sources: number, sourcesMax: number) {
    super(
      'too_many_sources',
      `survey ${surveyId} has ${sources} sources, more than limits.sources_per_survey_max allows (${sourcesMax}): only its own progress is read`,
    )
  }
}

/** It does not fit into what the run may read as a whole. */
class OversizedError extends Error {
  readonly requestsNeeded: number
  readonly at: Instant

  constructor(requestsNeeded: number, at: Instant) {
    super(`the survey needs ${requestsNeeded} requests`)
    this.requestsNeeded = requestsNeeded
    this.at = at
  }
}

const isTyped = (
  reading: Reading<Progress> | null,
): reading is Reading<Progress> & { readonly row: Progress } => reading !== null && reading.row !== null

/** `some` if there may be other sources, or the progress of the survey or of a source was not read, or could not be typed. */
const extentOf = ({ read }: SourceList, answers: readonly (Reading<Progress> | null)[]): ReadExtent =>
  (read === 'all' || read === 'none') && answers.every(isTyped) ? 'all' : 'some'

/** Requests of one bundle at the same time. The client limits those of all bundles together. */
const REQUESTS_AT_ONCE = 8

/**
 * The results are in the order of `items`. When one item fails, those that still wait never start. A budget does not end what is under
 * way: its answers are kept.
 */
const someAtOnce = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> => {
  const atOnce = pLimit(REQUESTS_AT_ONCE)
  const underWay = new Set<Promise<Result>>()
  const workOrClear = (item: Item) => {
    const one = work(item).catch((error: unknown) => {
      atOnce.clearQueue()
      throw error
    })
    underWay.add(one)
    return one.finally(() => underWay.delete(one))
  }
  try {
    return await Promise.all(items.map((item) => atOnce(workOrClear, item)))
  } catch (error) {
    if (isStop(error)) await Promise.allSettled(underWay)
    throw error
  }
}
