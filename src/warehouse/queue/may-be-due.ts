/**
 * Selects in SQL the surveys that a queue needs. `model/refresh-rules` decides which of them are due; this condition only spares it
 * the others, which are nearly all surveys of a large warehouse. It may select a survey too many, but never one too few
 * (test/unit/warehouse/queue/may-be-due.test.ts).
 */
import { instantFromMs } from '../../model/instant.js'
import type { SurveySelection } from '../../model/plan-facts.js'
import { EARLY_MS_MAX, REST_MS_MIN } from '../../model/refresh-rules.js'
import { IDLE_STATUSES, INACTIVE_STATUSES } from '../../model/survey-status.js'
import { literal } from '../connection/ddl.js'

/** A query for the ids of the selected surveys of the account `$1`. */
export const selectedIds = ({ at, changedSince, rules }: SurveySelection): string => {
  const queued = 'SELECT survey_id AS id FROM _sync.tasks WHERE account = $1'
  if (at === null) return queued
  const changed = changedSince === null ? 'false' : `greatest(created, updated) >= ${changedSince}`
  return `${queued} UNION SELECT id FROM (
    SELECT s.id, s.status, epoch_us(s.created_at) AS created, epoch_us(s.updated_at) AS updated, epoch_us(f.refreshed_at) AS refreshed,
      epoch_us(CASE WHEN p._observed_at > p._first_seen_at AND epoch_us(p._observed_at) <= ${at} THEN p._observed_at END) AS moved
    FROM ${CURRENT_SURVEYS} s
    LEFT JOIN (FROM main.freshness WHERE account = $1) f ON f.survey_id = s.id
    LEFT JOIN (FROM main.survey_progress WHERE account = $1) p ON p.survey_id = s.id
  ) WHERE ${changed} OR ${mayBeDue(at, rules)}`
}

/** The surveys that are not missing, with the status and time of their pending row. */
const CURRENT_SURVEYS = `(SELECT s.id, coalesce(w.status, s.status) AS status, s.created_at,
      coalesce(w.updated_at, s.updated_at) AS updated_at
    FROM main.surveys s LEFT JOIN (FROM _sync.pending_surveys WHERE account = $1) w ON w.id = s.id
    WHERE s.account = $1 AND s._missing_since IS NULL)`

/** The rules of `refreshReason`, in microseconds. */
const mayBeDue = (at: bigint, { settleForMs, maxAgeMs }: SurveySelection['rules']): string => {
  const [settleFor, maxAge, restMin, earlyMax] = [settleForMs, maxAgeMs, REST_MS_MIN, EARLY_MS_MAX].map(
    instantFromMs,
  )
  const quietSince = 'greatest(updated, moved)'
  const rest = `least(${maxAge}, greatest(${restMin}, refreshed - ${quietSince} - ${settleFor}))`
  return `refreshed IS NULL OR refreshed > ${at} OR (${isNot(IDLE_STATUSES)} AND (${isNot(INACTIVE_STATUSES)}
    OR ${at} - ${quietSince} < ${settleFor} + ${ROUNDED} OR ${at} - refreshed + ${ROUNDED} >= ${rest} - least(${earlyMax}, ${rest} // 4)))`
}

/** The rules count in milliseconds. */
const ROUNDED = 2_000

const isNot = (statuses: readonly string[]): string => `status NOT IN (${statuses.map(literal).join(', ')})`
