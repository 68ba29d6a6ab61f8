/**
 * The rules of the view `needs_action`, a row each: what a fieldwork manager should look at, and how soon. Their conditions, texts and
 * numbers are SQL over the columns of the step `facts` in `needs-action.ts`. Every expression must be defined for every survey, because
 * DuckDB may compute a text before it applies the condition.
 */
import { DEFAULT_ALARM_LEVELS } from '../../model/alarms.js'
import { literal } from '../connection/ddl.js'
import { FORECAST_PACE_DAYS_MIN, perDayText } from './forecast.js'
import {
  dropOut,
  INTERVIEWS_MIN,
  incidence,
  LEVEL_INTERVIEWS_MIN,
  length,
  percent,
  percentNumber,
  quotaFull,
  RATE_MOVED_MIN,
  ratesMoved,
  rejects,
  SOFT_LAUNCH_MAX,
  SOLD_INCIDENCE,
  SOLD_INCIDENCE_MIN,
  SOLD_LENGTH_MAX,
  TOTALS,
} from './needs-action-checks.js'
import { CLOSED, IN_FIELD } from './statuses.js'

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
const END_GAME_MIN = 0.9
/** Below this part of the missing interviews, undecided ones are those that come in at any time, and a few are always taken back. */
const MOVING_MIN = 0.25
/** How many times the rejects of the other sources, as parts of the whole, those of a source must be. */
export const SOURCE_TIMES_MIN = 2
export const STALE_HOURS = 24

export interface Rule {
  readonly kind: string
  /** 0: late for a customer; 1: somebody should act today; 2: soon; 3: worth a look. */
  readonly urgency: 0 | 1 | 2 | 3
  /** What the manager may ask. */
  readonly question: string
  /** From where on it is an alarm. */
  readonly level: string
  /** What is too little to say anything. */
  readonly floor?: string
  /** A text of the rule. */
  readonly example: string
  readonly when: string
  /** The column with the time since when the condition holds. */
  readonly since?: string
  readonly text: string
  /** Every number of the text, by name; `…_on` is a date. */
  readonly numbers?: Readonly<Record<string, string>>
  /** The column with the source that the reason is about. */
  readonly sourceId?: string
}

/** `1 day`, `2 days` */
const counted = (count: string, unit: string): string =>
  `${count} || CASE WHEN ${count} = 1 THEN ' ${unit}' ELSE ' ${unit}s' END`
const wholePercent = (part: number): string => `${Math.round(100 * part)} %`

/** The numbers in the texts about due dates. */
const DUE_NUMBERS = {
  due_on: 'due_on',
  expected_on: 'expected_on',
  needed_per_day: perDayText('needed_per_day', 'ceil'),
  per_day: perDayText('per_day', 'round'),
  expected_per_day: perDayText('expected_per_day', 'round'),
  missing: 'missing',
}

export const RULES: readonly Rule[] = [
  {
    kind: 'late',
    urgency: 0,
    question: 'Does it miss its due date?',
    level: 'expected after it or never, or it has passed',
    floor: `a pace of ${FORECAST_PACE_DAYS_MIN} days, unless the date has passed`,
    example: 'due 8 April, expected 15 May: needs 6.4 a day, has 2.1',
    when: `deadline = 'late'`,
    text: `due_words || CASE
      WHEN needed_per_day IS NULL THEN missing_words
      WHEN status = 'deviating_from_specs' THEN ', paused' || need_words
      WHEN expected_on IS NOT NULL THEN ', expected ' || expected_text || need_words
      WHEN gained > 0 THEN ', out of sight' || need_words
      WHEN stands_still THEN ', stands still' || need_words
      ELSE coalesce(', gained ' || gained || ' in ' || ${counted('pace_days', 'day')}, '') || need_words
    END`,
    numbers: { ...DUE_NUMBERS, gained: 'gained', days: 'pace_days', days_late: 'expected_on - due_on' },
  },
  {
    kind: 'at_risk',
    urgency: 2,
    question: 'May it miss its due date?',
    level: 'only the end of the 80 % interval is after it, or it is paused, or due today',
    floor: `a pace of ${FORECAST_PACE_DAYS_MIN} days`,
    example: 'due 9 April, expected 9 April or as late as 16 April: needs 5 a day, has 5',
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
    question: 'Should fieldwork go on?',
    level: 'its fieldwork is paused',
    example: 'paused for 3 days',
    when: `status = 'deviating_from_specs'`,
    since: 'status_since',
    text: `'paused' || CASE WHEN paused_days > 0 THEN ' for ' || ${counted('paused_days', 'day')} ELSE '' END`,
    numbers: { days: 'paused_days' },
  },
  {
    kind: 'no_complete',
    urgency: 1,
    question: 'Does it work at all?',
    level: 'in fieldwork, and never a complete interview',
    floor: `${OPEN_HOURS_MIN} hours in fieldwork`,
    example: 'no complete interview since it opened 3 days ago',
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
    question: 'Has it come to a halt?',
    level: `${STANDS_STILL_DAYS} days without a new complete interview, in fieldwork below its target`,
    floor: 'one complete interview',
    example: 'no complete interview for 4 days',
    when: 'is_open AND stands_still AND NOT has_none',
    since: 'still_since',
    text: `'no complete interview for ' || CASE WHEN no_gain_seen THEN 'at least ' ELSE '' END || ${counted('still_days', 'day')}`,
    numbers: { days: 'still_days' },
  },
  {
    kind: 'over_target',
    urgency: 1,
    question: 'Why is it still open?',
    level: '1 more than its target, and still in fieldwork',
    example: 'over target by 3, still open',
    when: `status = 'fieldwork' AND sample_size > 0 AND interviews_count > sample_size`,
    text: `'over target by ' || excess || ', still open'`,
    numbers: { over: 'excess' },
  },
  {
    kind: 'slips',
    urgency: 2,
    question: 'Does it get later?',
    level: `expected ${SLIP_DAYS} days later than a week ago, which is now before the 80 % interval, or no longer expected`,
    floor: `a pace of ${FORECAST_PACE_DAYS_MIN} days, and a forecast of 7 to 14 days ago, since the last pause`,
    example: 'slips 36 days',
    when: `is_open AND expected_before IS NOT NULL AND pace_days >= ${FORECAST_PACE_DAYS_MIN}
    AND (expected_on IS NULL OR (expected_on >= expected_before + ${SLIP_DAYS} AND expected_from > expected_before))`,
    text: `coalesce('slips ' || (expected_on - expected_before) || ' days', 'slips out of sight')`,
    numbers: { days_later: 'expected_on - expected_before' },
  },
  {
    kind: 'far',
    urgency: 2,
    question: 'Will it ever end?',
    level: `gains, but needs more than ${FAR_DAYS} days to its target`,
    floor: `a pace of ${FAR_PACE_DAYS_MIN} days`,
    example: 'target in 180 days',
    when: `is_open AND NOT stands_still AND gained > 0 AND pace_days >= ${FAR_PACE_DAYS_MIN}
    AND ${FAR_DAYS} * expected_per_day < missing`,
    text: `coalesce('target in ' || days_to_target || ' days', 'target out of sight')`,
    numbers: { days: 'days_to_target' },
  },
  {
    kind: 'drop_out',
    urgency: 2,
    question: 'Why do so many give up?',
    level: `\`alarms.drop_out\`, ${wholePercent(DEFAULT_ALARM_LEVELS.drop_out)} of the interviews`,
    floor: `${LEVEL_INTERVIEWS_MIN} interviews in the days of the pace`,
    example: 'drop-out 38%, before 17%',
    ...dropOut('recent'),
    when: `is_collecting AND NOT is_soft_launch AND ${dropOut('recent').when}`,
  },
  {
    kind: 'incidence',
    urgency: 2,
    question: 'Are these the right people?',
    level: `below ${wholePercent(SOLD_INCIDENCE_MIN)} of the incidence in the plan, else below \`alarms.incidence\`, ${wholePercent(DEFAULT_ALARM_LEVELS.incidence)}`,
    floor: `${LEVEL_INTERVIEWS_MIN} complete or screened out in the days of the pace`,
    example: 'incidence 36%, sold with 50%, before 36%',
    ...incidence('recent'),
    when: `is_collecting AND NOT is_soft_launch AND ${incidence('recent').when}`,
    numbers: { ...incidence('recent').numbers, ...SOLD_INCIDENCE },
  },
  {
    kind: 'quota_full',
    urgency: 2,
    question: 'Do we pay for people whom no quota needs?',
    level: `\`alarms.quota_full\`, ${wholePercent(DEFAULT_ALARM_LEVELS.quota_full)} of the interviews`,
    floor: `${LEVEL_INTERVIEWS_MIN} interviews in the days of the pace`,
    example: 'quota full for 67% of the interviews, before 0%',
    ...quotaFull('recent'),
    when: `is_collecting AND NOT is_soft_launch AND ${quotaFull('recent').when}`,
  },
  {
    kind: 'quality_rejects',
    urgency: 2,
    question: 'Are the interviews any good?',
    level: `\`alarms.rejected\`, ${wholePercent(DEFAULT_ALARM_LEVELS.rejected)} of the complete and rejected ones`,
    floor: `${INTERVIEWS_MIN} complete or rejected interviews`,
    example: '17% rejected for quality',
    ...rejects,
    when: `status IN ${IN_FIELD} AND NOT is_soft_launch AND ${rejects.when}`,
  },
  {
    kind: 'source_rejects',
    urgency: 2,
    question: 'Which source is bad?',
    level: `\`alarms.rejected\`, ${wholePercent(DEFAULT_ALARM_LEVELS.rejected)}, and ${SOURCE_TIMES_MIN} times as many as at the others`,
    floor: `${INTERVIEWS_MIN} complete or rejected interviews here and elsewhere`,
    example: '22% rejected at "Boost 18–24 7" (Panel East), 3% elsewhere',
    when: `status IN ${IN_FIELD} AND rejects_source_id IS NOT NULL`,
    text: `concat(
      ${percent('rejects_here')}, ' rejected at ',
      CASE WHEN trim(rejects_source) = '' THEN 'a source without a name' ELSE '"' || rejects_source || '"' END,
      ' (' || rejects_supplier || ')',
      ', ', ${percent('rejects_elsewhere')}, ' elsewhere'
    )`,
    numbers: {
      rejected_percent: percentNumber('rejects_here'),
      elsewhere_percent: percentNumber('rejects_elsewhere'),
    },
    sourceId: 'rejects_source_id',
  },
  {
    kind: 'length',
    urgency: 2,
    question: 'Is it longer than was sold?',
    level: `above ${wholePercent(SOLD_LENGTH_MAX)} of the length in the plan`,
    floor: `${INTERVIEWS_MIN} complete interviews`,
    example: '12.5 minutes long, sold with 10',
    ...length,
    when: `is_collecting AND NOT is_soft_launch AND ${length.when}`,
  },
  {
    kind: 'soft_launch',
    urgency: 2,
    question: 'May it open to all?',
    level: `pending, or in fieldwork up to ${wholePercent(SOFT_LAUNCH_MAX)} of its target, and beyond the level of \`drop_out\`, \`incidence\`, \`quota_full\`, \`quality_rejects\` or \`length\`, which say nothing then`,
    floor: 'theirs, of all interviews so far',
    example: 'soft launch: drop-out 38%',
    when: `is_soft_launch AND (${TOTALS.map(({ when }) => `coalesce(${when}, false)`).join('\n      OR ')})`,
    text: `'soft launch: ' || concat_ws(
      ', ',
      ${TOTALS.map(({ when, text }) => `CASE WHEN ${when} THEN ${text} END`).join(',\n      ')}
    )`,
    numbers: Object.assign({}, SOLD_INCIDENCE, ...TOTALS.map(({ numbers }) => numbers)),
  },
  {
    kind: 'end_game',
    urgency: 3,
    question: 'What do the last ones take?',
    level: `undecided, or taken back in a week: ${wholePercent(MOVING_MIN)} of the missing ones`,
    floor: `${wholePercent(END_GAME_MIN)} of the target; for starts, ${INTERVIEWS_MIN} interviews in the days of the pace`,
    example: '15 missing, 6 undecided, 5 taken back in a week, about 18 more starts at the present rate',
    when: `is_open AND CAST(interviews_count AS DOUBLE) / nullif(sample_size, 0) >= ${END_GAME_MIN}
    AND greatest(undecided, taken_back) >= ${MOVING_MIN} * missing`,
    text: `concat_ws(
      ', ',
      missing || ' missing',
      undecided || ' undecided',
      CASE WHEN taken_back > 0 THEN taken_back || ' taken back in a week' END,
      'about ' || ${counted('starts_needed', 'more start')} || ' at the present rate',
      CASE WHEN round(100 * last_quota_full_rate) > 0 THEN ${percent('last_quota_full_rate')} || ' of the last starts quota full' END
    )`,
    numbers: {
      missing: 'missing',
      undecided: 'undecided',
      taken_back: 'taken_back',
      starts_needed: 'starts_needed',
      quota_full_percent: percentNumber('last_quota_full_rate'),
    },
  },
  {
    kind: 'sources_behind',
    urgency: 3,
    question: 'Which source needs a push?',
    level: `a source needs ${wholePercent(BEHIND_MIN)} of its target to be as complete as its survey`,
    example: '2 sources trail their survey, by 91 interviews',
    when: `status IN ${IN_FIELD} AND sources_behind > 0`,
    text: `${counted('sources_behind', 'source')} || CASE WHEN sources_behind = 1 THEN ' trails its' ELSE ' trail their' END
      || ' survey, by ' || ${counted('behind', 'interview')}`,
    numbers: { sources: 'sources_behind', behind: 'behind' },
    sourceId: 'source_behind_most',
  },
  {
    kind: 'rates_moved',
    urgency: 3,
    question: 'What has got worse?',
    level: `incidence fell or drop-out rose by ${wholePercent(RATE_MOVED_MIN)} of the interviews, and is not beyond its level`,
    floor: `${INTERVIEWS_MIN} interviews in the days of the pace, and before`,
    example: 'incidence from 71% to 50%',
    ...ratesMoved,
    when: `is_collecting AND ${ratesMoved.when}`,
  },
  {
    kind: 'stale',
    urgency: 3,
    question: 'Are the numbers of today?',
    level: `${STALE_HOURS} hours without a reading, or the last one failed; not closed`,
    example: 'not reached by the last runs',
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
  name.endsWith('_on') ? 'VARCHAR' : /per_day|minutes$/.test(name) ? 'DOUBLE' : 'BIGINT'

/** Every number of a text, by name, as an expression. */
export const numbersSql = (numbers: Readonly<Record<string, string>>): string =>
  `json_object(${Object.entries(numbers)
    .map(([name, sql]) => `${literal(name)}, TRY_CAST(${sql} AS ${typeOf(name)})`)
    .join(', ')})`

/** The reason that a rule gives for a row of `facts`, as an expression; null if the condition does not hold. */
export const reasonSql = ({ kind, urgency, when, since, text, numbers = {}, sourceId }: Rule): string =>
  `CASE WHEN ${when} THEN {
    'kind': ${literal(kind)},
    'urgency': CAST(${urgency} AS BIGINT),
    'since': ${since ?? 'CAST(NULL AS TIMESTAMPTZ)'},
    'text': ${text},
    'numbers': ${numbersSql(numbers)},
    'sample_source_id': ${sourceId ?? 'CAST(NULL AS BIGINT)'}
  } END`
