/**
 * Decides when a survey's list of sources need not be read. Sources hardly ever change while a survey runs, and every refresh
 * checks for signs of a change: the survey's own row, its target, which is the sum of the sources' targets, and interviews that
 * no known source accounts for (docs/decisions/queue-and-refresh.md#0012-a-list-of-sources-is-read-on-signs-of-a-change).
 */

import { INTERVIEW_STATUSES, type Progress } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import type { RefreshRules, TaskReason } from '../../model/run.js'
import type { Reading } from '../../model/survey-source.js'
import type { CellRow, StoredBundle } from '../../model/warehouse.js'
import { ageMs } from '../../rules/believed.js'
import { listsSources } from '../../rules/refresh.js'
import type { SourceList } from './sources.js'

/** Whether to use the stored sources instead of the list, as long as the survey's progress shows no change. */
export const canReuseList = (
  stored: StoredBundle,
  reason: TaskReason,
  now: Instant,
  rules: RefreshRules,
): boolean => stored.progress !== null && !listsSources(stored.sourcesReadAt, reason, now, rules)

/** The survey's target differs from the one that was stored with the sources. */
export const hasTargetChanged = (stored: StoredBundle, progress: CellRow | null): boolean =>
  progress === null || progress.sample_size !== stored.progress?.sample_size

/**
 * The interviews that no stored source accounts for have become more, so there is another source. The survey's progress is read
 * before that of its sources. Interviews that arrive in between can hide another source, but no longer than a night.
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

/** The interviews of all statuses. */
const interviewsIn = (progress: CellRow | null): number =>
  INTERVIEW_STATUSES.reduce((sum, status) => sum + Number(progress?.[`${status}_individuals`] ?? 0), 0)

/**
 * Whether the progress of the sources need not be read: the sources and the survey's progress equal the stored ones, and the
 * stored progress of every source is recent enough.
 */
export const canSkipSources = (
  stored: StoredBundle,
  sources: SourceList,
  progress: Reading<Progress>,
  rules: RefreshRules,
): boolean => {
  if (!rules.skipUnchanged || progress.row === null || stored.progress === null) return false
  if (sources.read === 'some') return false
  if (ageMs(stored.sourceProgressReadAt, progress.readAt) >= rules.recheckUnchangedAfterMs) return false
  if (!sameRow(progress.row, stored.progress) || sources.ids.length !== stored.sources.length) return false
  const storedById = new Map(stored.sources.map((row) => [row.id, row]))
  const withProgress = new Set(stored.sourceProgress.map((row) => row.sample_source_id))
  return (
    sources.ids.every((id) => withProgress.has(id)) &&
    sources.rows.every((row) => sameRow(row, storedById.get(row.id) ?? {}))
  )
}

const sameRow = (fresh: CellRow, stored: CellRow): boolean =>
  Object.entries(fresh).every(([name, cell]) => stored[name] === cell)
