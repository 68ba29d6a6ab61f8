/** Compares the sources of one survey with what the service lists now, and says whether these or the survey have changed since. */
import type { Progress, SampleSource, Survey } from '../../model/fields.js'
import { type Instant, minusMs } from '../../model/instant.js'
import type { RequestContext, SurveySource } from '../../model/survey-source.js'
import { mergedSampleSources } from '../../warehouse/merge/merged-tables.js'
import { judgeVersion } from './judge-version.js'
import type { StoredSurvey } from './stored.js'
import { type Compared, comparedAs, type Judgement, judged } from './verdict.js'

export interface SurveyComparison {
  readonly source: SurveySource
  readonly context: RequestContext
  readonly surveyId: number
  readonly stored: StoredSurvey
  /** The survey's row as the service lists it now; null if its page does not show it. */
  readonly listedNow: () => Promise<Survey | null>
  /** The overlap of listings: how late a change may show. */
  readonly slackMs: number
}

export const compareSources = async (
  comparison: SurveyComparison,
  sources: readonly SampleSource[],
  rejectedIds: ReadonlySet<number>,
): Promise<Compared[]> => {
  const { surveyId, stored, slackMs } = comparison
  const columns = mergedSampleSources.values
  const of = (sampleSourceId: number, judgement: Judgement) =>
    comparedAs('sample_sources', columns.length, surveyId, sampleSourceId, judgement)
  const knownUntil = sourcesKnownUntil(stored, slackMs)
  const listed: Compared[] = []
  for (const service of sources) {
    const judgement = judgeVersion({
      columns,
      stored: stored.sources.get(service.id) ?? null,
      service,
      knownUntil,
      waitsFor: quarantined(stored, `sample_sources/${service.id}`),
    })
    listed.push(of(service.id, (await sinceMoved(comparison, service, knownUntil, judgement)) ?? judgement))
  }
  const ids = new Set(sources.map(({ id }) => id))
  const gone = [...stored.sources]
    .filter(([id, { missingSince }]) => missingSince === null && !ids.has(id))
    .map(([id]) =>
      of(
        id,
        rejectedIds.has(id)
          ? judged('unclear', 'the API sends it in a form that cannot be typed', [])
          : judged('moved', 'the API no longer lists it', []),
      ),
    )
  return [...listed, ...gone]
}

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
    // The survey's progress has the target of all sources that were there when we read. A source that we lost would be in it.
    const wasAway = service.sample_size > 0 && targetOf(stored) === storedTargets(stored)
    return wasAway
      ? judged('moved', 'the target that we read did not count it: it came since', differences)
      : null
  }
  const isTarget = differences.every(
    ({ field, stored: before }) => field === 'sample_size' && before !== null,
  )
  return isTarget && (await hasSurveyChanged(comparison, knownUntil))
    ? judged('moved', 'its survey has changed since', differences)
    : null
}

/** The target of the survey as it was read. */
const targetOf = ({ progress }: StoredSurvey): number | null => {
  const target = progress?.cells.sample_size
  return typeof target === 'number' ? target : null
}

/** The sum of the targets of the sources as they were listed. */
const storedTargets = ({ sources }: StoredSurvey): number =>
  [...sources.values()]
    .filter(({ missingSince }) => missingSince === null)
    .reduce((sum, { cells }) => sum + Number(cells.sample_size), 0)

/** Whether a listed source explains the target that was read later than the list: the source was away then, and is back. */
export const wasSourceAway = (
  stored: StoredSurvey,
  sources: readonly SampleSource[],
  { sample_size }: Progress,
  slackMs: number,
): boolean => {
  const { refreshedAt, sourcesListedAt } = stored
  if (refreshedAt === null || sourcesListedAt === null) return false
  if (sourcesListedAt >= minusMs(refreshedAt, slackMs)) return false
  const lacking = (sample_size ?? 0) - (targetOf(stored) ?? 0)
  return lacking > 0 && sources.some((one) => one.sample_size === lacking)
}

const sourcesKnownUntil = ({ sourcesListedAt }: StoredSurvey, slackMs: number): Instant | null =>
  sourcesListedAt === null ? null : minusMs(sourcesListedAt, slackMs)

export const quarantined = ({ quarantine }: StoredSurvey, part: string): string | null =>
  quarantine.has(part) ? 'a newer row is in quarantine' : null

/**
 * Whether the survey has changed since: its row in the warehouse, or the one of now. A change of a target may move `updated_at` of the
 * survey alone. Without a row nobody knows, so it may have changed.
 */
export const hasSurveyChanged = async (
  { stored, listedNow }: SurveyComparison,
  at: Instant,
): Promise<boolean> => {
  const known = [stored.survey?.cells.updated_at, stored.pending?.updated_at]
  if (known.some((updatedAt) => typeof updatedAt === 'bigint' && updatedAt >= at)) return true
  const now = await listedNow()
  return now === null || now.updated_at >= at
}
