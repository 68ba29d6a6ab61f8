/**
 * The sample of one account: chooses surveys, requests them from the service, and compares. A page of the listing with a chosen survey also
 * has other surveys, and all of its rows are compared.
 */
import type { RequestContext } from '../../base/allowance.js'
import { isStop, StoppedError, UpstreamError } from '../../base/errors.js'
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import { type Page, RefusedReadingError, type SurveySource } from '../../model/survey-source.js'
import type { Database } from '../../warehouse/connection/database.js'
import { mergedSurveys } from '../../warehouse/merge/merged-tables.js'
import { chanceToFind, inSampleOrder, onePercentOf } from './choose.js'
import { compareSurvey } from './compare-survey.js'
import { createFieldWatch, type DroppedField } from './dropped-fields.js'
import {
  type Population,
  readPopulation,
  readStoredSurveys,
  type StoredSurvey,
  type StoredSurveyPlace,
} from './stored.js'
import { type Compared, comparedAs, judged, judgeVersion } from './verdict.js'

interface SampleOptions {
  readonly account: string
  readonly source: SurveySource
  /** The published state, open. */
  readonly database: Database
  readonly context: RequestContext
  /** How many surveys to compare. */
  readonly sample: number
  readonly seed: string
  /** The overlap of listings, which is how late a change may show. */
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
  /** Chosen surveys that were compared completely. */
  readonly compared: number
  readonly rows: readonly Compared[]
  /** Fields that the API no longer has. */
  readonly droppedFields: readonly DroppedField[]
  /** The chance that this sample finds at least one wrong survey if one in a hundred is wrong. */
  readonly chanceToFindOnePercent: number
  readonly unread: readonly UnreadSurvey[]
  /** The stop or error of the API that ended the sample before all chosen surveys were compared; null without one. */
  readonly endedBy: StoppedError | UpstreamError | null
}

interface UnreadSurvey {
  readonly surveyId: number
  readonly problem: string
}

/** Rejects only for errors of the warehouse and for bugs. */
export const verifySample = async (options: SampleOptions): Promise<SampleProof> => {
  const { account, database, sample, seed } = options
  const population = await database.transaction((sql) => readPopulation(sql, account))
  const candidates = population.surveys.flatMap(({ refreshedAt, ...survey }) =>
    refreshedAt === null ? [] : [{ ...survey, refreshedAt }],
  )
  const chosen = inSampleOrder(candidates, { account, seed }).slice(0, sample)
  const comparison = await compareAll(options, population, chosen)
  return {
    account,
    surveys: candidates.length,
    chosen: chosen.length,
    ...comparison,
    chanceToFindOnePercent: chanceToFind(
      candidates.length,
      comparison.compared,
      onePercentOf(candidates.length),
    ),
  }
}

const compareAll = async (
  { account, source, context, database, slackMs, onCompared }: SampleOptions,
  { surveys, cursor, pageRows }: Population,
  chosen: readonly StoredSurveyPlace[],
) => {
  const rows: Compared[] = []
  const unread: UnreadSurvey[] = []
  const totals = { compared: 0, unread }
  const fields = createFieldWatch()
  /** Surveys whose row was compared. A survey may be on two pages, because rows move. */
  const onPages = new Set<number>()
  const readPage = (page: number) => source.listSurveys({ updatedSince: null, page }, context)
  const listing = createListing(readPage, surveys, pageRows)
  const readStored = (ids: readonly number[]) =>
    database.transaction((sql) => readStoredSurveys(sql, account, ids, { cursor, slackMs }))

  const comparePage = async (page: Page<Survey>): Promise<void> => {
    const unseen = page.rows.filter(({ id }) => !onPages.has(id))
    const stored = await readStored(unseen.map(({ id }) => id))
    for (const row of unseen) {
      onPages.add(row.id)
      fields.shows('survey', row)
      rows.push(compareRow(row, requiredOf(stored, row.id), cursor))
    }
  }
  const compareOne = async (survey: StoredSurveyPlace): Promise<void> => {
    const surveyId = survey.id
    try {
      for (const page of await listing.find(survey)) await comparePage(page)
      const stored = requiredOf(await readStored([surveyId]), surveyId)
      const listedNow = () => listing.again(surveyId)
      const { shows } = fields
      const compared = await compareSurvey({ source, context, surveyId, stored, listedNow, slackMs, shows })
      if (compared !== 'gone') rows.push(...compared)
      if (!onPages.has(surveyId)) rows.push(unlisted(surveyId, compared === 'gone'))
      totals.compared += 1
    } catch (error) {
      if (error instanceof StoppedError || !(error instanceof RefusedReadingError)) throw error
      unread.push({ surveyId, problem: error.message })
    }
  }
  try {
    for (const survey of chosen) {
      await compareOne(survey)
      onCompared(totals.compared + unread.length, chosen.length)
    }
    return { ...totals, ...fields.judge(rows), endedBy: null }
  } catch (error) {
    if (isStop(error) || error instanceof UpstreamError)
      return { ...totals, ...fields.judge(rows), endedBy: error }
    throw error
  }
}

const requiredOf = (stored: ReadonlyMap<number, StoredSurvey>, id: number): StoredSurvey => {
  const survey = stored.get(id)
  if (survey === undefined) throw new TypeError(`survey ${id} was not read from the warehouse`)
  return survey
}

/** If a changed row waits for its task, it is compared in place of the stored row, because it is our latest knowledge. */
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

// Finds surveys in the listing, which is the only place that shows their rows. A survey's rank in the warehouse gives the page where it is
// expected. Surveys that were created or have gone since move it to other pages, and `created_at` of the rows on a page says in which
// direction. Each page is read once.

type ReadPage = (page: number) => Promise<Page<Survey>>

/** How many pages away from its expected page a survey is searched. */
const STEPS_MAX = 4

/** `surveys` are in the order of the listing. */
export const createListing = (
  readPage: ReadPage,
  surveys: readonly StoredSurveyPlace[],
  pageRows: number | null,
) => {
  const pages = new Map<number, Page<Survey>>()
  const pagesAgain = new Map<number, Promise<Page<Survey>>>()
  const ranks = new Map(surveys.map(({ id }, rank) => [id, rank]))
  const pageAt = async (number: number, read: Page<Survey>[]): Promise<Page<Survey>> => {
    const known = pages.get(number)
    if (known !== undefined) return known
    const page = await readPage(number)
    pages.set(number, page)
    read.push(page)
    return page
  }
  return {
    /** Searches the page with the survey, or with its neighbours. Returns the pages that were read for the first time. */
    find: async ({ id, createdAt }: StoredSurveyPlace): Promise<readonly Page<Survey>[]> => {
      const read: Page<Survey>[] = []
      const first = await pageAt(1, read)
      const isAlone = first.pagination.next_page === null
      const rows = isAlone ? (pageRows ?? first.rows.length) : first.rows.length
      const shift = first.pagination.total_count - ranks.size
      let number = Math.floor(((ranks.get(id) ?? 0) + Math.max(0, shift)) / Math.max(1, rows)) + 1
      const seen = new Set<number>()
      for (let step = 0; step < STEPS_MAX; step += 1) {
        number = Math.min(Math.max(1, number), Math.max(1, first.pagination.total_pages))
        if (seen.has(number)) break
        seen.add(number)
        const page = await pageAt(number, read)
        const direction = page.rows.some((row) => row.id === id) ? 0 : directionOf(page, createdAt)
        if (direction === 0) break
        number += direction
      }
      return read
    },
    /** The row of a survey on a second reading of its page, which is made once; null if the page no longer shows it. */
    again: async (id: number): Promise<Survey | null> => {
      const [number] = [...pages].find(([, { rows }]) => rows.some((row) => row.id === id)) ?? []
      if (number === undefined) return null
      const page = pagesAgain.get(id) ?? readPage(number)
      pagesAgain.set(id, page)
      return (await page).rows.find((row) => row.id === id) ?? null
    },
  }
}

/** 1: the survey is older than every row of the page, so it comes later. -1: it is newer. 0: it lies between its rows. */
const directionOf = ({ rows }: Page<Survey>, createdAt: Instant): -1 | 0 | 1 => {
  const [newest, oldest] = [rows.at(0)?.created_at, rows.at(-1)?.created_at]
  if (newest === undefined || oldest === undefined) return -1
  // Surveys with the same moment of creation may be on either page.
  if (createdAt <= oldest) return 1
  return createdAt >= newest ? -1 : 0
}
