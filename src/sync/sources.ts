/** Reads all pages of a survey's sample sources, and reads them again if rows moved between the pages. */
import { UpstreamError } from '../base/errors.js'
import type { Progress, SampleSource } from '../model/fields.js'
import type { Instant } from '../model/instant.js'
import { newestById, type Page } from '../model/survey-source.js'
import type { CellRow, ListExtent, StoredBundle } from '../model/warehouse.js'
import { endlessList, pagesMaxOf, ShownRows } from './list-checks.js'
import { unlistedIn } from './unlisted-sources.js'

export interface SourceList {
  /** Server time of the last page; 0 if the API did not answer. */
  readonly readAt: Instant
  /** `some`: a row could not be typed, or fewer sources were shown than announced. `failed`: the stored sources are used. */
  readonly read: ListExtent
  /** Ids of all sources with a typed or stored row. */
  readonly ids: readonly number[]
  readonly rows: readonly SampleSource[]
  /** Ids of all listed sources, also of rejected rows; null if there may be others. */
  readonly listedIds: readonly number[] | null
  readonly pages: number
}

const LISTINGS_MAX = 3

type ReadPage = (page: number) => Promise<Page<SampleSource>>

/**
 * `warn` reports a list that shows a source more than once, and therefore fewer sources than it announces. The sources of such a list are
 * read, but no source counts as gone.
 */
export const readSources = async (
  surveyId: number,
  readPage: ReadPage,
  warn: (problem: string) => void,
): Promise<SourceList> => {
  let before: string | null = null
  for (let listing = 1; listing <= LISTINGS_MAX; listing += 1) {
    const pages = await readPages(surveyId, readPage)
    if (pages === null) {
      before = null
      continue
    }
    const { list, unshown } = gather(pages)
    if (unshown <= 0) return list
    const shown = new ShownRows('source', before)
    for (const page of pages) shown.add(page)
    const { repeated, isLasting } = shown.explain(unshown)
    if (isLasting) {
      warn(
        `the list of sample sources of survey ${surveyId} shows ${repeated}, and fewer sources than it announces`,
      )
      return { ...list, read: 'some', listedIds: null }
    }
    before = repeated
  }
  throw new UpstreamError(
    'unstable_list',
    `the sample sources of survey ${surveyId} changed between their pages, ${LISTINGS_MAX} times in a row; the survey stays queued`,
  )
}

/** The stored sources, because the list was not answered. */
export const knownSources = ({ sources }: StoredBundle): SourceList => ({
  readAt: 0n,
  read: 'failed',
  ids: sources.map(({ id }) => Number(id)),
  rows: [],
  listedIds: null,
  pages: 0,
})

/** Null if the total shrank between the pages. */
const readPages = async (
  surveyId: number,
  readPage: ReadPage,
): Promise<readonly Page<SampleSource>[] | null> => {
  const pages: Page<SampleSource>[] = []
  let next: number | null = 1
  let total = 0
  while (next !== null) {
    const firstTotal = pages[0]?.pagination.total_count ?? 0
    if (next > pagesMaxOf(firstTotal))
      throw endlessList(`the list of sample sources of survey ${surveyId}`, firstTotal)
    const page: Page<SampleSource> = await readPage(next)
    if (page.pagination.total_count < total) return null
    total = page.pagination.total_count
    next = page.pagination.next_page
    pages.push(page)
  }
  return pages
}

/** The list that the pages show. `unshown`: how many more sources the last page announces. */
const gather = (pages: readonly Page<SampleSource>[]): { list: SourceList; unshown: number } => {
  const last = pages.at(-1)
  const rows = newestById(pages.flatMap((page) => page.rows))
  const rejectedIds = pages.flatMap(({ rejections }) => rejections.map(({ rowId }) => rowId))
  const known = rejectedIds.filter((id) => id !== null)
  const listedIds = known.length < rejectedIds.length ? null : [...new Set([...rows.keys(), ...known])]
  const list: SourceList = {
    readAt: last?.readAt ?? 0n,
    read: rejectedIds.length > 0 ? 'some' : 'all',
    ids: [...rows.keys()],
    rows: [...rows.values()],
    listedIds,
    pages: pages.length,
  }
  const shown = listedIds?.length ?? rows.size + rejectedIds.length
  return { list, unshown: (last?.pagination.total_count ?? 0) - shown }
}

/**
 * Whether the list of sources, completely typed, and the survey's progress equal the stored ones, and the progress of every source is
 * stored.
 */
export const equalsStored = (
  stored: StoredBundle,
  listed: SourceList,
  progress: Progress | null,
): boolean => {
  if (listed.read !== 'all' || stored.sourceProgressReadAt === null) return false
  if (progress === null || stored.progress === null || !isSameRow(stored.progress, progress)) return false
  if (listed.ids.length !== stored.sources.length || unlistedIn(stored, listed).length > 0) return false
  const storedById = new Map(stored.sources.map((row) => [row.id, row]))
  return listed.rows.every((row) => isSameRow(storedById.get(row.id) ?? {}, row))
}

/** Whether every cell that was read is unchanged. */
const isSameRow = (before: CellRow, now: object): boolean =>
  Object.entries(now).every(([name, cell]) => before[name] === cell)
