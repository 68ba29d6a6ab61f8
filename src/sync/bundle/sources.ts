/** Reads all pages of a survey's sample sources, and reads them again if rows moved between the pages. */
import { UpstreamError } from '../../base/errors.js'
import type { SampleSource } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import type { Page, ReadExtent, Rejection, RequestContext, SurveySource } from '../../model/survey-source.js'
import type { StoredBundle } from '../../model/warehouse.js'
import { EndlessListError, pagesMaxOf } from '../listing/endless-list.js'

export interface SourceList {
  /** Server time of the last page; 0 if the stored sources are used. */
  readonly readAt: Instant
  /** `none`: the stored sources are used. `some`: a row could not be typed. */
  readonly read: ReadExtent
  /** Ids of all sources with a typed or stored row. */
  readonly ids: readonly number[]
  /** The last reading of each source. */
  readonly rows: readonly SampleSource[]
  /** Ids of all listed sources, also of rejected rows; null if an id could not be read. */
  readonly listedIds: readonly number[] | null
  readonly pages: number
}

/** The list kept changing between its pages. The task fails, and the next run tries it again. */
export class UnstableListError extends UpstreamError {
  readonly code = 'unstable_list'
  readonly endsRun = false
}

const LISTINGS_MAX = 3

export const readSources = async (
  source: SurveySource,
  surveyId: number,
  context: RequestContext,
): Promise<SourceList> => {
  for (let listing = 1; listing <= LISTINGS_MAX; listing += 1) {
    const pages = await readPages(source, surveyId, context)
    if (pages !== null) return gather(pages)
  }
  throw new UnstableListError(
    `the sample sources of survey ${surveyId} changed between their pages, ${LISTINGS_MAX} times in a row; the survey stays queued`,
  )
}

/** The stored sources, in place of the list. */
export const knownSources = ({ sources }: StoredBundle): SourceList => ({
  readAt: 0n,
  read: 'none',
  ids: sources.map(({ id }) => Number(id)),
  rows: [],
  listedIds: null,
  pages: 0,
})

/** Null if the total shrank between the pages, or if fewer sources arrived than the last page announces. */
const readPages = async (
  source: SurveySource,
  surveyId: number,
  context: RequestContext,
): Promise<readonly Page<SampleSource>[] | null> => {
  const pages: Page<SampleSource>[] = []
  let next: number | null = 1
  let total = 0
  while (next !== null) {
    const firstTotal = pages[0]?.pagination.total_count ?? 0
    if (next > pagesMaxOf(firstTotal)) {
      throw new EndlessListError(
        `the list of sample sources of survey ${surveyId}`,
        pagesMaxOf(firstTotal),
        firstTotal,
      )
    }
    const page: Page<SampleSource> = await source.listSampleSources(surveyId, next, context)
    if (page.pagination.total_count < total) return null
    total = page.pagination.total_count
    next = page.pagination.next_page
    pages.push(page)
  }
  const { rows, listedIds } = gather(pages)
  return (listedIds?.length ?? rows.length + rejectionsIn(pages).length) < total ? null : pages
}

const gather = (pages: readonly Page<SampleSource>[]): SourceList => {
  const rows = new Map(pages.flatMap((page) => page.rows.map((row) => [row.id, row] as const)))
  const rejectedIds = rejectionsIn(pages).map(({ rowId }) => rowId)
  const known = rejectedIds.filter((id) => id !== null)
  return {
    readAt: pages.at(-1)?.readAt ?? 0n,
    read: rejectedIds.length > 0 ? 'some' : 'all',
    ids: [...rows.keys()],
    rows: [...rows.values()],
    listedIds: known.length < rejectedIds.length ? null : [...new Set([...rows.keys(), ...known])],
    pages: pages.length,
  }
}

const rejectionsIn = (pages: readonly Page<SampleSource>[]): readonly Rejection[] =>
  pages.flatMap(({ rejections }) => rejections)
