/**
 * The rules of the view `needs_action`, a row each: what a fieldwork manager should look at, and how soon. Their conditions, texts and
 * numbers are SQL over the columns of the step `facts` in `needs-action.ts`. Every expression must be defined for every survey, because
 * DuckDB may compute a text before it applies the condition.
 */
import { INACTIVE_STATUSES } from '../../rules/refresh.js'
import { literal } from '../connection/ddl.js'
import { FORECAST_PACE_DAYS_MIN } from './forecast.js'

/** Fieldwork is running or paused. */
export const IN_FIELD = `('fieldwork', 'deviating_from_specs')`

/** The statuses in which nobody waits for interviews. */
export const CLOSED = `(${INACTIVE_STATUSES.map(literal).join(', ')})`

/** A forecast is far away after a quarter: few surveys without a due date are planned for longer. */
const FAR_DAYS = 90
/** The least days of a pace that say anything about a quarter. */
const FAR_PACE_DAYS_MIN = 3
export const STANDS_STILL_DAYS = 3
const SLIP_DAYS = 3
/** The least hours in fieldwork after which a complete interview is missed. A night's reading may come some hours early. */
export const OPEN_HOURS_MIN = 20
/** The limits of the rules, as parts of a whole. */
export const BEHIND_MIN = 0.1
const [RATE_MOVED_MIN, REJECTED_MIN] = [0.1, 0.15]
const END_GAME_MIN = 0.9
/** Below this part of the missing interviews, undecided ones are those that come in at any time. */
const UNDECIDED_MIN = 0.25
/** The least interviews for a rule about a rate. */
const INTERVIEWS_MIN = 20
export const STALE_HOURS = 24

export interface Rule {
  readonly kind: string
  /** 0: late for a customer; 1: somebody should act today; 2: soon; 3: worth a look. */
  readonly urgency: 0 | 1 | 2 | 3
  /** The condition in words. */
  readonly means: string
  readonly when: string
  /** The column with the time since when the condition holds. */
  readonly since?: string
  readonly text: string
  /** Every number of the text, by name; `…_on` is a date. */
  readonly numbers?: Readonly<Record<string, string>>
  /** The column with the source that the reason is about. */
  readonly sourceId?: string
}

const percent = (rate: string): string => `TRY_CAST(round(100 * ${rate}) AS BIGINT) || '%'`
const moved = (rate: string): string => `abs(recent_${rate} - earlier_${rate}) >= ${RATE_MOVED_MIN}`
const movedText = (rate: string, word: string): string =>
  `CASE WHEN ${moved(rate)} THEN '${word} from ' || ${percent(`earlier_${rate}`)} || ' to ' || ${percent(`recent_${rate}`)} END`
/** `1 day`, `2 days` */
const counted = (count: string, unit: string): string =>
  `${count} || CASE WHEN ${count} = 1 THEN ' ${unit}' ELSE ' ${unit}s' END`
const wholePercent = (part: number): string => `${Math.round(100 * part)} %`

/** The numbers in the texts about due dates. */
const DUE_NUMBERS = {
  due_on: 'due_on',
  expected_on: 'expected_on',
  needed_per_day: 'needed_text',
  per_day: 'per_day_text',
  missing: 'missing',
}

export const RULES: readonly Rule[] = [
  {
    kind: 'late',
    urgency: 0,
    means: 'By its pace, it reaches its target after its due date or never, or the due date has passed',
    when: `deadline = 'late'`,
    text: `due_words || CASE
      WHEN needed_per_day IS NULL THEN missing_words
      WHEN status = 'deviating_from_specs' THEN ', paused' || need_words
      WHEN expected_on IS NOT NULL THEN ', expected ' || expected_text || need_words
      WHEN gained > 0 THEN ', out of sight' || need_words
      ELSE ', stands still' || need_words
    END`,
    numbers: { ...DUE_NUMBERS, days_late: 'expected_on - due_on' },
  },
  {
    kind: 'at_risk',
    urgency: 2,
    means: 'Only the end of its 80 % interval is after its due date, or it is paused, or due today',
    when: `deadline = 'at_risk'`,
    text: `'due ' || due_text || CASE
      WHEN needed_per_day IS NULL THEN missing_words
      WHEN status = 'deviating_from_specs' THEN ', paused' || need_words
      ELSE ', expected ' || expected_text || coalesce(' or as late as ' || latest_text, ' or far later') || need_words
    END`,
    numbers: { ...DUE_NUMBERS, latest_on: 'expected_to', days_late: 'expected_to - due_on' },
  },
  {
    kind: 'paused',
    urgency: 1,
    means: 'Its fieldwork is paused',
    when: `status = 'deviating_from_specs'`,
    since: 'status_since',
    text: `'paused' || CASE WHEN paused_days > 0 THEN ' for ' || ${counted('paused_days', 'day')} ELSE '' END`,
    numbers: { days: 'paused_days' },
  },
  {
    kind: 'no_complete',
    urgency: 1,
    means: 'In fieldwork for a day or longer, and never had a complete interview',
    when: `status = 'fieldwork' AND has_none AND is_open_for_a_day`,
    since: 'status_since',
    text: `'no complete interview since it ' || CASE
      WHEN status_before IS NULL THEN 'opened at least '
      WHEN status_before = 'deviating_from_specs' THEN 'went on '
      ELSE 'opened '
    END || ${counted('open_days', 'day')} || ' ago'`,
    numbers: { days: 'open_days' },
  },
  {
    kind: 'stands_still',
    urgency: 1,
    means: `In fieldwork below its target, without a new complete interview for ${STANDS_STILL_DAYS} days`,
    when: 'is_open AND stands_still AND NOT has_none',
    since: 'still_since',
    text: `'no complete interview for ' || CASE WHEN no_gain_seen THEN 'at least ' ELSE '' END || ${counted('still_days', 'day')}`,
    numbers: { days: 'still_days' },
  },
  {
    kind: 'over_target',
    urgency: 1,
    means: 'Over its target, and still in fieldwork',
    when: `status = 'fieldwork' AND sample_size > 0 AND interviews_count > sample_size`,
    text: `'over target by ' || excess || ', still open'`,
    numbers: { over: 'excess' },
  },
  {
    kind: 'slips',
    urgency: 2,
    means: `Expected ${SLIP_DAYS} or more days later than a week ago, and no longer within the 80 % interval of that day, or no longer expected`,
    when: `is_open AND expected_before IS NOT NULL AND pace_days >= ${FORECAST_PACE_DAYS_MIN}
    AND (expected_on IS NULL OR (expected_on >= expected_before + ${SLIP_DAYS} AND expected_from > expected_before))`,
    text: `coalesce('slips ' || (expected_on - expected_before) || ' days', 'slips out of sight')`,
    numbers: { days_later: 'expected_on - expected_before' },
  },
  {
    kind: 'far',
    urgency: 2,
    means: `Gains, but by its pace is more than ${FAR_DAYS} days from its target`,
    when: `is_open AND NOT stands_still AND gained > 0 AND pace_days >= ${FAR_PACE_DAYS_MIN}
    AND ${FAR_DAYS} * per_day < missing`,
    text: `coalesce('target in ' || days_to_target || ' days', 'target out of sight')`,
    numbers: { days: 'days_to_target' },
  },
  {
    kind: 'quality_rejects',
    urgency: 2,
    means: `At least ${wholePercent(REJECTED_MIN)} of the complete interviews, of at least ${INTERVIEWS_MIN}, were rejected for their quality`,
    when: `status IN ${IN_FIELD} AND complete + rejected >= ${INTERVIEWS_MIN}
    AND rejected >= ${REJECTED_MIN} * (complete + rejected)`,
    text: `${percent('CAST(rejected AS DOUBLE) / (complete + rejected)')} || ' rejected for quality'`,
    numbers: {
      rejected_percent: '100 * CAST(rejected AS DOUBLE) / (complete + rejected)',
      rejected: 'rejected',
      complete: 'complete',
    },
  },
  {
    kind: 'end_game',
    urgency: 3,
    means: `At least ${wholePercent(END_GAME_MIN)} of its target, and the undecided interviews (manual action, pending analysis) are at least ${wholePercent(UNDECIDED_MIN)} of the missing ones`,
    when: `is_open AND CAST(interviews_count AS DOUBLE) >= ${END_GAME_MIN} * sample_size
    AND undecided >= ${UNDECIDED_MIN} * missing`,
    text: `missing || ' missing, ' || undecided || ' undecided'`,
    numbers: { missing: 'missing', undecided: 'undecided' },
  },
  {
    kind: 'sources_behind',
    urgency: 3,
    means: `A source lacks at least ${wholePercent(BEHIND_MIN)} of its target to be as complete as its survey`,
    when: `status IN ${IN_FIELD} AND sources_behind > 0`,
    text: `${counted('sources_behind', 'source')} || ' behind, by ' || ${counted('behind', 'interview')}`,
    numbers: { sources: 'sources_behind', behind: 'behind' },
    sourceId: 'source_behind_most',
  },
  {
    kind: 'rates_moved',
    urgency: 3,
    means: `Incidence or drop-out moved by at least ${wholePercent(RATE_MOVED_MIN)} in the days of the pace, with at least ${INTERVIEWS_MIN} complete interviews`,
    when: `status = 'fieldwork' AND gained >= ${INTERVIEWS_MIN} AND (${moved('incidence_rate')} OR ${moved('drop_out_rate')})`,
    text: `concat_ws(
      ', ',
      ${movedText('incidence_rate', 'incidence')},
      ${movedText('drop_out_rate', 'drop-out')}
    )`,
  },
  {
    kind: 'stale',
    urgency: 3,
    means: `Not closed, and not read for ${STALE_HOURS} hours, or the last reading failed`,
    when: `status NOT IN ${CLOSED} AND coalesce(is_old OR last_error IS NOT NULL, true)`,
    since: 'refreshed_at',
    text: `CASE
      WHEN last_error IS NULL THEN 'not reached by the last runs'
      WHEN parts_of IS NULL THEN 'not read completely'
      ELSE 'too large for one run: read in parts'
    END`,
    numbers: { requests: 'parts_of' },
  },
]

const typeOf = (name: string): string =>
  name.endsWith('_on') ? 'VARCHAR' : name.endsWith('per_day') ? 'DOUBLE' : 'BIGINT'

/** The reason that a rule gives for a row of `facts`, as an expression; null if the condition does not hold. */
export const reasonSql = ({ kind, urgency, when, since, text, numbers = {}, sourceId }: Rule): string => {
  const pairs = Object.entries(numbers).map(
    ([name, sql]) => `${literal(name)}, TRY_CAST(${sql} AS ${typeOf(name)})`,
  )
  return `CASE WHEN ${when} THEN {
    'kind': ${literal(kind)},
    'urgency': CAST(${urgency} AS BIGINT),
    'since': ${since ?? 'CAST(NULL AS TIMESTAMPTZ)'},
    'text': ${text},
    'numbers': json_object(${pairs.join(', ')}),
    'sample_source_id': ${sourceId ?? 'CAST(NULL AS BIGINT)'}
  } END`
}
