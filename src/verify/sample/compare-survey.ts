/**
 * Compares the stored sources of one survey, its progress and the progress of each source with the present answers of the service. The row
 * of the survey is compared elsewhere; here it may say whether the survey has changed since.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Progress, SampleSource, Survey } from '../../model/fields.js'
import { type Instant, minusMs } from '../../model/instant.js'
import type { Reading } from '../../model/survey-source.js'
import { mergedSampleSources } from '../../warehouse/merge/merged-tables.js'
import type { Resource } from './dropped-fields.js'
import { judgeProgress, PROGRESS_COLUMNS } from './judge-progress.js'
import {
  type KnownSource,
  type Listed,
  type OneSurvey,
  orGone,
  readAllSources,
  readLeftOut,
  readProgress,
} from './readings.js'
import { laterOf, type StoredSurvey } from './stored.js'
import { CAME_BACK, type Compared, comparedAs, type Judgement, judged, judgeVersion } from './verdict.js'

interface SurveyComparison extends OneSurvey {
  /** The survey's row as the service lists it now; null if its page does not show it. */
  readonly listedNow: () => Promise<Survey | null>
  /** The overlap of listings, which is how late a change may show. */
  readonly slackMs: number
  /** Called with each row of the service. */
  readonly shows: (resource: Resource, row: object) => void
}

/**
 * `gone`: the API no longer shows the survey. Throws a `RefusedReadingError` if the API refuses the survey, and the errors of the source.
 */
export const compareSurvey = async (comparison: SurveyComparison): Promise<readonly Compared[] | 'gone'> => {
  const listed = await orGone(readAllSources(comparison))
  const progress = await orGone(readProgress(comparison, null))
  if (listed === null && progress === null) return 'gone'
  const leftOut = listed === null ? [] : await readLeftOut(comparison, listed)
  const sources: readonly KnownSource[] = [...(listed?.sources ?? []), ...leftOut]
  const compared = listed === null ? [] : await compareSources(comparison, listed, leftOut)
  if (progress !== null) compared.push(await compareProgress(comparison, sources, progress))
  const ofSources: Awaited<ReturnType<typeof judgeSourceProgress>>[] = []
  for (const source of sources) ofSources.push(await judgeSourceProgress(comparison, source))
  // Only a second source can hide a change of a source: it changed by the opposite number, or between the survey's answer and its own.
  const mayHide = ({ judgement, isReadLast }: (typeof ofSources)[number]) =>
    judgement.verdict !== 'equal' || isReadLast
  const ids = new Set(sources.map(({ id }) => id))
  const gone = [...comparison.stored.sourceProgress.keys()].filter((id) => !ids.has(id))
  const hiding = [...ofSources.filter(mayHide).map(({ id }) => id), ...gone]
  for (const { id, judgement, hidden } of ofSources) {
    const { length: fields } = PROGRESS_COLUMNS
    const isHidden = hiding.some((other) => other !== id)
    const shown = isHidden ? (hidden ?? judgement) : judgement
    compared.push(comparedAs('sample_source_progress', fields, comparison.surveyId, id, shown))
  }
  return compared
}

const compareSources = async (
  comparison: SurveyComparison,
  { sources, rejectedIds }: Listed,
  leftOut: readonly KnownSource[],
): Promise<Compared[]> => {
  const { surveyId, stored, slackMs } = comparison
  const columns = mergedSampleSources.values
  const comparedSource = (sampleSourceId: number, judgement: Judgement) =>
    comparedAs('sample_sources', columns.length, surveyId, sampleSourceId, judgement)
  const { sourcesListedAt } = stored
  const knownUntil = sourcesListedAt === null ? null : minusMs(sourcesListedAt, slackMs)
  const compared: Compared[] = []
  for (const service of sources) {
    comparison.shows('sample_source', service)
    const known = stored.sources.get(service.id) ?? null
    const waitsFor = quarantined(stored, `sample_sources/${service.id}`)
    const judgement = judgeVersion({ columns, stored: known, service, knownUntil, waitsFor })
    compared.push(
      comparedSource(service.id, (await sinceMoved(comparison, service, knownUntil, judgement)) ?? judgement),
    )
  }
  const ids = new Set(sources.map(({ id }) => id))
  const notListed = (id: number) =>
    rejectedIds.has(id) ? UNTYPABLE : leftOut.some((source) => source.id === id) ? LEFT_OUT : NO_LONGER_LISTED
  for (const [id, { missingSince }] of stored.sources)
    if (missingSince === null && !ids.has(id)) compared.push(comparedSource(id, notListed(id)))
  return compared
}

const NO_LONGER_LISTED: Judgement = judged('moved', 'the API no longer lists it', [])
const LEFT_OUT: Judgement = judged('unclear', 'the list leaves it out, although it still answers', [])

const UNTYPABLE: Judgement = judged('unclear', 'the API sends it in a form that cannot be typed', [])

/** What the survey says about a source whose own `updated_at` does not explain a difference; null if it says nothing. */
const sinceMoved = async (
  comparison: SurveyComparison,
  service: SampleSource,
  knownUntil: Instant | null,
  { verdict, differences }: Judgement,
): Promise<Judgement | null> => {
  if (verdict !== 'wrong' || knownUntil === null) return null
  const { stored } = comparison
  if (!stored.sources.has(service.id)) {
    // The survey's progress has the sum of the targets of all sources at the time of our reading. A source that we failed to store would be
    // part of the sum.
    const wasAway = service.sample_size > 0 && targetOf(stored) === storedTargets(stored)
    const why = 'the target that we read did not count it: it came since'
    return wasAway ? judged('moved', why, differences) : null
  }
  const isTarget = differences.every(
    ({ field, ...before }) => field === 'sample_size' && before.stored !== null,
  )
  return isTarget && (await hasSurveyChanged(comparison, knownUntil))
    ? judged('moved', 'its survey has changed since', differences)
    : null
}

/** The target of the survey in its stored progress. */
const targetOf = ({ progress }: StoredSurvey): number | null => {
  const target = progress?.cells.sample_size
  return typeof target === 'number' ? target : null
}

/** The sum of the targets of the stored sources. */
const storedTargets = ({ sources }: StoredSurvey): number =>
  [...sources.values()]
    .filter(({ missingSince }) => missingSince === null)
    .reduce((sum, { cells }) => sum + Number(cells.sample_size), 0)

/**
 * Whether a listed source explains why the target, which was read later than the list, differs: the source was away at that time, and is
 * back.
 */
const wasSourceAway = (
  stored: StoredSurvey,
  sources: readonly KnownSource[],
  { sample_size }: Progress,
  slackMs: number,
): boolean => {
  const { refreshedAt, sourcesListedAt } = stored
  if (refreshedAt === null || sourcesListedAt === null) return false
  if (sourcesListedAt >= minusMs(refreshedAt, slackMs)) return false
  const lacking = (sample_size ?? 0) - (targetOf(stored) ?? 0)
  return lacking > 0 && sources.some((source) => source.sample_size === lacking)
}

const quarantined = ({ quarantine }: StoredSurvey, part: string): string | null =>
  quarantine.has(part) ? 'a newer row is in quarantine' : null

/**
 * Whether the survey has changed since `at`, by its row in the warehouse or its present row. A change of a target may move only
 * `updated_at` of the survey. Without a row, the survey may have changed.
 */
const hasSurveyChanged = async ({ stored, listedNow }: SurveyComparison, at: Instant): Promise<boolean> => {
  const known = [stored.survey?.cells.updated_at, stored.pending?.updated_at]
  if (known.some((updatedAt) => typeof updatedAt === 'bigint' && updatedAt >= at)) return true
  const now = await listedNow()
  return now === null || now.updated_at >= at
}

const compareProgress = async (
  comparison: SurveyComparison,
  sources: readonly KnownSource[],
  progress: Reading<Progress>,
): Promise<Compared> => {
  const { surveyId, stored, slackMs } = comparison
  const comparedTotal = (judgement: Judgement) =>
    comparedAs('survey_progress', PROGRESS_COLUMNS.length, surveyId, null, judgement)
  if (progress.row === null) return comparedTotal(UNTYPABLE)
  comparison.shows('fieldwork_progress', progress.row)
  const { refreshedAt } = stored
  const ids = new Set(sources.map(({ id }) => id))
  const storedIds = new Set(
    [...stored.sources].flatMap(([id, { missingSince }]) => (missingSince === null ? [id] : [])),
  )
  const haveSourcesChanged =
    !isDeepStrictEqual(ids, storedIds) || wasSourceAway(stored, sources, progress.row, slackMs)
  return comparedTotal(
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
      until: async (at) => (await readProgress(comparison, null, untilMoment(at))).row,
    }),
  )
}

/** `hidden` is the judgement if another source of the survey may have hidden a change; null if no source can have. */
const judgeSourceProgress = async (comparison: SurveyComparison, known: KnownSource) => {
  const { stored, slackMs } = comparison
  const row = stored.sourceProgress.get(known.id) ?? null
  const { sourceProgressKnownAt } = stored
  const isReadLast = row !== null && sourceProgressKnownAt !== null && row.datedAt >= sourceProgressKnownAt
  const judgedSource = (judgement: Judgement, hidden: Judgement | null = null) => {
    return { id: known.id, judgement, hidden, isReadLast }
  }
  const reading = await orGone(readProgress(comparison, known.id))
  if (reading === null) return judgedSource(judged('moved', 'the API no longer shows it', []))
  const service = reading.row
  if (service === null) return judgedSource(UNTYPABLE)
  comparison.shows('fieldwork_progress', service)
  const waitsFor = whySourceWaits(stored, known.id)
  if (row !== null && row.missingSince !== null && waitsFor === null)
    return judgedSource(judged('unclear', CAME_BACK, []))
  const judgeAsOf = (readAt: Instant | null) =>
    judgeProgress({
      stored: presentCells(row),
      service,
      serviceReadAt: reading.readAt,
      readAt,
      isReadAtExact: false,
      waitsFor,
      slackMs,
      mayGain: isImported(known),
      haveSourcesChanged: false,
      isTargetKnown: async () =>
        readAt !== null &&
        known.updated_at < minusMs(readAt, slackMs) &&
        !(await hasSurveyChanged(comparison, minusMs(readAt, slackMs))),
      until: async (at) => (await readProgress(comparison, known.id, untilMoment(at))).row,
    })
  const readAt = laterOf(stored.sourceProgressReadAt, row?.datedAt ?? null)
  const knownAt = laterOf(stored.sourceProgressKnownAt, readAt)
  const judgement = await judgeAsOf(knownAt)
  if (judgement.verdict !== 'wrong' || knownAt === readAt) return judgedSource(judgement)
  if (judgement.differences.every(({ field }) => field === 'length_of_interview'))
    return judgedSource(judged('unclear', UNPROVEN, judgement.differences))
  const asRead = await judgeAsOf(readAt)
  return judgedSource(judgement, asRead.verdict === 'moved' ? { ...asRead, why: HIDDEN } : asRead)
}

const UNPROVEN = 'the progress of its survey did not change, which does not show a length that moves alone'

/** A change of the source that the progress of the survey did not show. The next reading of all sources shows it. */
const HIDDEN = 'it moved since it was read, and another source of the survey hid that'

/** The sources of a survey are known as of their last list, and the progress of each as of its last reading. */
const whySourceWaits = (stored: StoredSurvey, sourceId: number): string | null => {
  const source = stored.sources.get(sourceId)
  const isStored = source !== undefined && source.missingSince === null
  const isRead = stored.sourceProgress.get(sourceId)?.missingSince === null
  if (!isStored) return 'its source is not stored'
  if (!isRead && (stored.isQueued || stored.sourceProgressReadAt === null)) return 'it was not read yet'
  return quarantined(stored, `fieldwork_progress/${sourceId}`)
}

const presentCells = (row: StoredSurvey['progress']) => (row?.missingSince === null ? row.cells : null)

/** Interviews of imported data may have started before they were imported. */
const isImported = ({ provider }: KnownSource): boolean => provider === 'data_import'

/** All interviews that started up to a moment. */
const untilMoment = (at: Instant) => ({
  day: 'up to a moment',
  startedAfter: 0n,
  startedBefore: at < 0n ? 0n : at,
})
