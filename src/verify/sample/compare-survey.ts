/** Compares everything that the warehouse has of one survey with what the service says now. The row of the survey is not among it. */

import type { Progress, SampleSource } from '../../model/fields.js'
import { type Instant, minusMs } from '../../model/instant.js'
import {
  newestById,
  type Reading,
  RefusedReadingError,
  type SurveySource,
} from '../../model/survey-source.js'
import {
  compareSources,
  hasSurveyChanged,
  quarantined,
  type SurveyComparison,
  wasSourceAway,
} from './compare-sources.js'
import { judgeProgress, PROGRESS_COLUMNS } from './judge-progress.js'
import type { StoredSurvey } from './stored.js'
import { type Compared, comparedAs, type Judgement, judged } from './verdict.js'

/** `gone`: the API no longer shows the survey. */
export type ComparedSurvey = readonly Compared[] | 'gone'

/** Throws a `RefusedReadingError` if the API refuses the survey, and the errors of the source. */
export const compareSurvey = async (comparison: SurveyComparison): Promise<ComparedSurvey> => {
  const listed = await orGone(readAllSources(comparison))
  const progress = await orGone(comparison.source.readSurveyProgress(comparison.surveyId, comparison.context))
  if (listed === null && progress === null) return 'gone'
  const { sources = [], rejectedIds = new Set<number>() } = listed ?? {}
  const compared = listed === null ? [] : await compareSources(comparison, sources, rejectedIds)
  if (progress !== null) compared.push(await compareProgress(comparison, sources, progress))
  for (const source of sources) compared.push(...(await compareSourceProgress(comparison, source)))
  return compared
}

interface Sources {
  readonly sources: readonly SampleSource[]
  /** Sources that the service lists and that cannot be typed. */
  readonly rejectedIds: ReadonlySet<number>
}

/** More pages than any list of sources has. */
const PAGES_MAX = 500

const readAllSources = async ({ source, context, surveyId }: SurveyComparison): Promise<Sources> => {
  const rows: SampleSource[] = []
  const rejectedIds = new Set<number>()
  let next: number | null = 1
  while (next !== null && next <= PAGES_MAX) {
    const page: Awaited<ReturnType<SurveySource['listSampleSources']>> = await source.listSampleSources(
      surveyId,
      next,
      context,
    )
    rows.push(...page.rows)
    for (const { rowId } of page.rejections) if (rowId !== null) rejectedIds.add(rowId)
    next = page.pagination.next_page
  }
  return { sources: [...newestById(rows).values()], rejectedIds }
}

/** Null after a 404. */
const orGone = <Result>(reading: Promise<Result>): Promise<Result | null> =>
  reading.catch((error: unknown) => {
    if (error instanceof RefusedReadingError && error.kind === 'not_found') return null
    throw error
  })

const compareProgress = async (
  comparison: SurveyComparison,
  sources: readonly SampleSource[],
  progress: Reading<Progress>,
): Promise<Compared> => {
  const { surveyId, stored, slackMs, source, context } = comparison
  const of = (judgement: Judgement) =>
    comparedAs('survey_progress', PROGRESS_COLUMNS.length, surveyId, null, judgement)
  if (progress.row === null) return of(UNTYPABLE)
  const { refreshedAt } = stored
  const listedIds = new Set(sources.map(({ id }) => id))
  const storedIds = new Set(
    [...stored.sources].flatMap(([id, { missingSince }]) => (missingSince === null ? [id] : [])),
  )
  const haveSourcesChanged =
    listedIds.size !== storedIds.size ||
    [...listedIds].some((id) => !storedIds.has(id)) ||
    wasSourceAway(stored, sources, progress.row, slackMs)
  return of(
    await judgeProgress({
      stored: presentCells(stored.progress),
      service: progress.row,
      serviceReadAt: progress.readAt,
      readAt: refreshedAt,
      isReadAtExact: true,
      waitsFor: refreshedAt === null ? 'it was never read' : quarantined(stored, 'fieldwork_progress'),
      slackMs,
      mayGain: sources.some(isImported),
      haveSourcesChanged,
      isTargetKnown: async () =>
        !haveSourcesChanged &&
        refreshedAt !== null &&
        sources.reduce((sum, { sample_size }) => sum + sample_size, 0) === progress.row?.sample_size &&
        sources.every(({ updated_at }) => updated_at < minusMs(refreshedAt, slackMs)) &&
        !(await hasSurveyChanged(comparison, minusMs(refreshedAt, slackMs))),
      until: async (at) => (await source.readDayProgress(surveyId, null, untilMoment(at), context)).row,
    }),
  )
}

const UNTYPABLE: Judgement = judged('unclear', 'the API sends it in a form that cannot be typed', [])

const compareSourceProgress = async (
  comparison: SurveyComparison,
  listed: SampleSource,
): Promise<readonly Compared[]> => {
  const { surveyId, stored, slackMs, source, context } = comparison
  const of = (judgement: Judgement) => [
    comparedAs('sample_source_progress', PROGRESS_COLUMNS.length, surveyId, listed.id, judgement),
  ]
  const reading = await orGone(source.readSampleSourceProgress(surveyId, listed.id, context))
  if (reading === null) return of(judged('moved', 'the API no longer shows it', []))
  if (reading.row === null) return of(UNTYPABLE)
  const row = stored.sourceProgress.get(listed.id) ?? null
  const waitsFor = whySourceWaits(stored, listed.id)
  if (row !== null && row.missingSince !== null && waitsFor === null)
    return of(judged('unclear', 'marked as missing, and the API shows it: it came back, or never went', []))
  const readAt = laterOf(stored.sourceProgressReadAt, row?.datedAt ?? null)
  return of(
    await judgeProgress({
      stored: presentCells(row),
      service: reading.row,
      serviceReadAt: reading.readAt,
      readAt,
      isReadAtExact: false,
      waitsFor,
      slackMs,
      mayGain: isImported(listed),
      haveSourcesChanged: false,
      isTargetKnown: async () =>
        readAt !== null &&
        listed.updated_at < minusMs(readAt, slackMs) &&
        !(await hasSurveyChanged(comparison, minusMs(readAt, slackMs))),
      until: async (at) => (await source.readDayProgress(surveyId, listed.id, untilMoment(at), context)).row,
    }),
  )
}

/** The sources of a survey are known as of their last list, and the progress of each as of its last reading. */
const whySourceWaits = (stored: StoredSurvey, sourceId: number): string | null => {
  const source = stored.sources.get(sourceId)
  const isStored = source !== undefined && source.missingSince === null
  const isRead = stored.sourceProgress.get(sourceId)?.missingSince === null
  if (!isStored) return 'its source is not stored'
  if (!isRead && (stored.isQueued || stored.sourceProgressReadAt === null)) return 'it was not read yet'
  return quarantined(stored, `fieldwork_progress/${sourceId}`)
}

const presentCells = (
  row: { readonly cells: StoredSurvey['pending']; readonly missingSince: Instant | null } | null,
) => (row === null || row.missingSince !== null ? null : row.cells)

/** Interviews of imported data may have started before they were imported. */
const isImported = ({ provider }: SampleSource): boolean => provider === 'data_import'

/** All interviews that started up to a moment. */
const untilMoment = (at: Instant) => ({
  day: 'up to a moment',
  startedAfter: 0n,
  startedBefore: at < 0n ? 0n : at,
})

const laterOf = (one: Instant | null, other: Instant | null): Instant | null =>
  one === null || (other !== null && other > one) ? other : one
