/**
 * When a survey's list of sources need not be read again. Sources hardly ever change while a survey runs, and what would
 * betray that they did is looked at in every refresh: the survey's own row, its target, which is the sum of theirs, and
 * whether they account for all of its interviews.
 */
import { INTERVIEW_STATUSES } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import { listsSources } from '../../model/refresh-rules.js'
import type { RefreshRules, TaskReason } from '../../model/run.js'
import type { CellRow, StoredBundle } from '../../model/warehouse.js'

/** Whether the stored sources are to be taken for the listed ones, unless the progress that is read next betrays them. */
export const mayRestSources = (
  stored: StoredBundle,
  reason: TaskReason,
  now: Instant,
  rules: RefreshRules,
): boolean => stored.progress !== null && !listsSources(stored.sourcesReadAt, reason, now, rules)

/** The survey's target is no longer what it was beside the stored sources. */
export const targetMoved = (stored: StoredBundle, progress: CellRow | null): boolean =>
  progress === null || progress.sample_size !== stored.progress?.sample_size

/**
 * The survey has more interviews beside those of its stored sources than it had: they are another source's. The whole was
 * read before the sources, so what came in between is theirs as well and hides nothing for longer than a night.
 */
export const interviewsElsewhere = (
  stored: StoredBundle,
  progress: CellRow | null,
  sourceProgress: readonly CellRow[],
): boolean => {
  const before = interviewsIn(stored.progress) - stored.sourceInterviews
  const now = interviewsIn(progress) - sourceProgress.reduce((sum, row) => sum + interviewsIn(row), 0)
  return now > Math.max(0, before)
}

/** Of all statuses. */
const interviewsIn = (progress: CellRow | null): number =>
  INTERVIEW_STATUSES.reduce((sum, status) => sum + Number(progress?.[`${status}_individuals`] ?? 0), 0)
