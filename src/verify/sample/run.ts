/**
 * The sample of one account: chooses surveys, requests them from the service, and compares. A page of the listing that shows a chosen
 * survey shows others as well: all of its rows are compared.
 */
import { isStop, StoppedError, UpstreamError } from '../../base/errors.js'
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import type { Page, RequestContext, SurveySource } from '../../model/survey-source.js'
import { RefusedReadingError } from '../../model/survey-source.js'
import type { Database } from '../../warehouse/connection/database.js'
import { mergedSurveys } from '../../warehouse/merge/merged-tables.js'
import { chanceToFind, inSampleOrder, onePercentOf } from './choose.js'
import { compareSurvey } from './compare-survey.js'
import { judgeVersion } from './judge-version.js'
import { Listing } from './pages.js'
import {
  type Population,
  readPopulation,
  readStoredSurveys,
  type StoredSurvey,
  type StoredSurveyPlace,
} from './stored.js'
import { type Compared, comparedAs, judged } from './verdict.js'

interface SampleOptions {
  readonly account: string
  readonly source: SurveySource
  /** The published state, open. */
  readonly database: Database
  readonly context: RequestContext
  /** How many surveys to compare. */
  readonly sample: number
  readonly seed: string
  /** The overlap of listings: how late a change may show. */
  readonly slackMs: number
  /** Reports each survey that was compared. */
  readonly onCompared: (done: number, of: number) => void
}

export interface SampleProof {
  readonly account: string
  /** Surveys that could be chosen: the API shows them, and they were read at least once. */
  readonly surveys: number
  /** Surveys that were chosen. */
  readonly chosen: number
  /** Surveys of these that were compared completely. */
  readonly compared: number
  readonly rows: readonly Compared[]
  /** The chance that this sample finds at least one wrong survey if one in a hundred is wrong. */
  readonly chanceToFindOnePercent: number
  readonly unread: readonly UnreadSurvey[]
  /** Why it ended before all chosen surveys were compared; null if it did not. */
  readonly stopped: string | null
  /** The error of the API that ended it. */
  readonly failure: UpstreamError | null
}

interface UnreadSurvey {
  readonly surveyId: number
  readonly problem: string
}

/** Rejects only for errors of the warehouse and for bugs. */
export const verifySample = async (options: SampleOptions): Promise<SampleProof> => {
  const { account, database, sample, seed } = options
  const population = await database.transaction((sql) => readPopulation(sql, account))
  const candidates = population.surveys.flatMap(({ refreshedAt, ...place }) =>
    refreshedAt === null ? [] : [{ ...place, refreshedAt }],
  )
  const chosen = inSampleOrder(candidates, { account, seed }).slice(0, sample)
  const found = await new Sampling(options, population).compare(chosen)
  return {
    account,
    surveys: candidates.length,
    chosen: chosen.length,
    ...found,
    chanceToFindOnePercent: chanceToFind(candidates.length, found.compared, onePercentOf(candidates.length)),
  }
}

class Sampling {
  readonly #options: SampleOptions
  readonly #population: Population
  readonly #listing: Listing
  readonly #rows: Compared[] = []
  readonly #unread: UnreadSurvey[] = []
  /** Surveys whose row was compared. A survey may be on two pages, because rows move. */
  readonly #onPages = new Set<number>()
  #compared = 0

  constructor(options: SampleOptions, population: Population) {
    const { source, context } = options
    this.#options = options
    this.#population = population
    this.#listing = new Listing(
      (page) => source.listSurveys({ updatedSince: null, page }, context),
      population.surveys,
      population.pageRows,
    )
  }

  async compare(chosen: readonly StoredSurveyPlace[]) {
    const ended = (stopped: string | null, failure: UpstreamError | null) => {
      const found = { compared: this.#compared, rows: this.#rows, unread: this.#unread }
      return { ...found, stopped, failure }
    }
    try {
      for (const survey of chosen) {
        await this.#compareOne(survey)
        this.#options.onCompared(this.#compared + this.#unread.length, chosen.length)
      }
      return ended(null, null)
    } catch (error) {
      if (isStop(error)) return ended(error.message, null)
      if (error instanceof UpstreamError) return ended(error.message, error)
      throw error
    }
  }

  async #compareOne(survey: StoredSurveyPlace): Promise<void> {
    const { source, context, slackMs } = this.#options
    try {
      for (const page of await this.#listing.find(survey)) await this.#comparePage(page)
      const stored = await this.#stored([survey.id])
      const compared = await compareSurvey({
        source,
        context,
        surveyId: survey.id,
        stored: requiredOf(stored, survey.id),
        listedNow: once(() => this.#listing.again(survey.id)),
        slackMs,
      })
      if (compared !== 'gone') this.#rows.push(...compared)
      if (!this.#onPages.has(survey.id)) this.#rows.push(unlisted(survey.id, compared === 'gone'))
      this.#compared += 1
    } catch (error) {
      if (error instanceof StoppedError || !(error instanceof RefusedReadingError)) throw error
      this.#unread.push({ surveyId: survey.id, problem: error.message })
    }
  }

  async #comparePage(page: Page<Survey>): Promise<void> {
    const rows = page.rows.filter(({ id }) => !this.#onPages.has(id))
    const stored = await this.#stored(rows.map(({ id }) => id))
    for (const row of rows) {
      this.#onPages.add(row.id)
      this.#rows.push(compareRow(row, requiredOf(stored, row.id), this.#population.cursor))
    }
  }

  #stored(ids: readonly number[]): Promise<ReadonlyMap<number, StoredSurvey>> {
    const { account, database, slackMs } = this.#options
    const { cursor } = this.#population
    return database.transaction((sql) => readStoredSurveys(sql, account, ids, { cursor, slackMs }))
  }
}

const once = <Result>(read: () => Promise<Result>): (() => Promise<Result>) => {
  let reading: Promise<Result> | null = null
  return () => {
    reading ??= read()
    return reading
  }
}

const requiredOf = (stored: ReadonlyMap<number, StoredSurvey>, id: number): StoredSurvey => {
  const found = stored.get(id)
  if (found === undefined) throw new TypeError(`survey ${id} was not read from the warehouse`)
  return found
}

/** A changed row that waits for its task is what we know, so it takes the place of the stored row. */
const compareRow = (service: Survey, stored: StoredSurvey, cursor: Instant | null): Compared => {
  const { survey, pending, listedUntil, quarantine } = stored
  const columns = mergedSurveys.values
  const judgement = judgeVersion({
    columns,
    stored: pending === null ? survey : { cells: pending, missingSince: null },
    service,
    knownUntil: listedUntil ?? cursor,
    waitsFor: quarantine.has('surveys') ? 'a newer row is in quarantine' : null,
  })
  const known =
    pending !== null && judgement.verdict === 'equal'
      ? judged('waiting', 'its changed row is known, and waits for its sources and progress', [])
      : judgement
  return comparedAs('surveys', columns.length, service.id, null, known)
}

const unlisted = (surveyId: number, isGone: boolean): Compared => {
  const why = 'its page of the listing does not show it, although its progress can be read'
  const gone = judged('moved', 'the API no longer shows it', [])
  return comparedAs('surveys', 0, surveyId, null, isGone ? gone : judged('unclear', why, []))
}
