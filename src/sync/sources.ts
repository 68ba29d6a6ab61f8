/** Reads all pages of a survey's sample sources, and reads them again if rows moved between the pages. */
import { UpstreamError } from '../base/errors.js'
import { INTERVIEW_STATUSES, type Progress, type SampleSource } from '../model/fields.js'
import type { Instant } from '../model/instant.js'
import type { RefreshRules } from '../model/run.js'
import { newestById, type Page, type ReadExtent, type Reading } from '../model/survey-source.js'
import type { CellRow, StoredBundle } from '../model/warehouse.js'
import { ageMs } from '../rules/believed.js'
import { isSame } from '../rules/explained-sum.js'
import type { Task } from '../rules/queue.js'
import { listsSources } from '../rules/refresh.js'
import { endlessList, pagesMaxOf, ShownRows } from './list-checks.js'
import { unlistedIn } from './unlisted-sources.js'

export interface SourceList {
  /** Server time of the last page; 0 if the stored sources are used. */
  readonly readAt: Instant
  /** `some`: a row could not be typed, or fewer sources were shown than announced. `none`: the stored sources are used; `failed`: these too. */
  readonly read: ReadExtent | 'failed'
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
 * `warn` reports a list that shows a source more than once, and so fewer sources than it announces. Its sources are read, but
 * none counts as gone.
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
    const { list, missing } = gather(pages)
    if (missing <= 0) return list
    const shown = new ShownRows('source', before)
    for (const page of pages) shown.add(page)
    const { repeated, isLasting } = shown.explain(missing)
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

/** The stored sources: the list was not requested, or not answered. */
export const knownSources = ({ sources }: StoredBundle, read: 'none' | 'failed'): SourceList => ({
  readAt: 0n,
  read,
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

/** The list that the pages show. `missing`: how many more sources the last of them announces. */
const gather = (pages: readonly Page<SampleSource>[]): { list: SourceList; missing: number } => {
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
  return { list, missing: (last?.pagination.total_count ?? 0) - shown }
}

/**
 * Whether to use the stored sources instead of the list, as long as nothing shows a change: the survey's own row, its target, and
 * interviews that no known source accounts for (docs/decisions/queue-and-refresh.md#0012-a-list-of-sources-is-read-on-signs-of-a-change).
 */
export const canReuseList = (
  stored: StoredBundle,
  task: Pick<Task, 'reason' | 'isTouched'>,
  now: Instant,
  rules: RefreshRules,
): boolean =>
  stored.progress !== null &&
  !listsSources({ ...stored, sourcesChangedAt: lastChangeOf(stored) }, task, now, rules)

const lastChangeOf = ({ sources }: StoredBundle): Instant | null =>
  sources.reduce<Instant | null>((last, { updated_at: at }) => {
    return typeof at === 'bigint' && (last === null || at > last) ? at : last
  }, null)

/**
 * Whether the survey's progress shows that its list of sources changed: its target moved. If only `updated_at` of its row moved, and not
 * its progress, a source explains that.
 */
export const showsListChanged = (
  stored: StoredBundle,
  { isTouched }: Pick<Task, 'isTouched'>,
  progress: Progress | null,
): boolean =>
  progress === null ||
  progress.sample_size !== stored.progress?.sample_size ||
  (isTouched && isSame(stored.progress, progress))

/**
 * Whether the list is as old as the progress that was read before it: its targets, all of them typed, add up to that of the survey, or
 * neither has changed.
 */
export const agree = (stored: StoredBundle, listed: SourceList, progress: Progress | null): boolean => {
  if (listed.read !== 'all' || progress === null) return false
  const sum = listed.rows.reduce((total, { sample_size }) => total + sample_size, 0)
  const isSame = progress.sample_size === stored.progress?.sample_size && hasSameTargets(stored, listed)
  return sum === progress.sample_size || isSame
}

/**
 * The interviews that no stored source accounts for have become more, so there is another source. Interviews that arrive between the two
 * readings can hide it, but no longer than a night.
 */
export const hasUnknownSource = (
  stored: StoredBundle,
  progress: CellRow | null,
  sourceProgress: readonly CellRow[],
): boolean => {
  const unexplained = (ofSurvey: CellRow | null, ofSources: readonly CellRow[]) =>
    interviewsIn(ofSurvey) - ofSources.reduce((sum, row) => sum + interviewsIn(row), 0)
  const before = unexplained(stored.progress, stored.sourceProgress)
  const now = unexplained(progress, sourceProgress)
  return now > Math.max(0, before)
}

const interviewsIn = (progress: CellRow | null): number =>
  INTERVIEW_STATUSES.reduce((sum, status) => sum + Number(progress?.[`${status}_individuals`] ?? 0), 0)

/**
 * Whether the stored progress of the sources was read recently enough to infer from that of the survey which of them moved. None has gone.
 * Moves of two sources can cancel out, so this ends with `recheck_unchanged_after`; but not in a survey without interviews.
 */
export const areSourcesKnown = (
  stored: StoredBundle,
  sources: SourceList,
  { row, readAt }: Reading<Progress>,
  rules: RefreshRules,
): boolean => {
  if (!rules.skip_unchanged || sources.read === 'some') return false
  const readBeforeMs = ageMs(stored.sourceProgressReadAt, readAt)
  const isRecent = readBeforeMs < rules.recheck_unchanged_after
  if (!isRecent && (readBeforeMs === Number.POSITIVE_INFINITY || !isWithoutInterviews(row))) return false
  const listed = new Set(sources.ids)
  return stored.sourceProgress.every((row) => listed.has(Number(row.sample_source_id)))
}

/** Counts are not negative, so none of its sources has interviews either. Those with an unknown status are in `_extra`. */
const isWithoutInterviews = (progress: Progress | null): boolean =>
  progress !== null &&
  progress._extra === null &&
  INTERVIEW_STATUSES.every((status) => progress[`${status}_individuals`] === 0)

/** Whether the list, all of it typed, has the stored sources with their targets. Then only its texts may have changed. */
const hasSameTargets = ({ sources }: StoredBundle, listed: SourceList): boolean => {
  const targets = new Map(sources.map(({ id, sample_size }) => [id, sample_size]))
  const isSame = listed.rows.every(({ id, sample_size }) => targets.get(id) === sample_size)
  return listed.read === 'all' && listed.rows.length === targets.size && isSame
}

/** The same, and the list has every known source. */
export const isSameList = (stored: StoredBundle, listed: SourceList): boolean =>
  hasSameTargets(stored, listed) && unlistedIn(stored, listed).length === 0

/** Whether the list of sources and the survey's progress equal the stored ones, and no source lacks its progress. */
export const hasSameRows = (
  stored: StoredBundle,
  sources: SourceList,
  progress: Progress | null,
): boolean => {
  if (progress === null || stored.progress === null || !isSame(stored.progress, progress)) return false
  if (sources.ids.length !== stored.sourceProgress.length) return false
  const storedById = new Map(stored.sources.map((row) => [row.id, row]))
  return sources.rows.every((row) => isSame(storedById.get(row.id) ?? {}, row))
}
