/**
 * The rules of the view `needs_action`, a row each: what a fieldwork manager should look at, and how soon. Their conditions, texts and
 * numbers are SQL over the columns of the step `facts` in `needs-action.ts`. Every expression must be defined for every survey, because
 * DuckDB may compute a text before it applies the condition.
 */
import { DEFAULT_ALARM_LEVELS } from '../../model/alarms.js'
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
const RATE_MOVED_MIN = 0.1
/** What the plan has sold is missed by more than this part of it. */
const [SOLD_INCIDENCE_MIN, SOLD_LENGTH_MAX] = [0.8, 1.2]
const END_GAME_MIN = 0.9
/** Below this part of the missing interviews, undecided ones are those that come in at any time. */
const UNDECIDED_MIN = 0.25
/** The least interviews of each rate that is compared with another one, and of a length. */
export const INTERVIEWS_MIN = 20
/** How many times the rejects of the other sources, as parts of the whole, those of a source must be. */
export const SOURCE_TIMES_MIN = 2
/** The least interviews of a rate that is compared with a level: of 20 with a rate of 20 %, one in five looks like 30 % or more. */
const LEVEL_INTERVIEWS_MIN = 50
export const STALE_HOURS = 24

export interface Rule {
  readonly kind: string
  /** 0: late for a customer; 1: somebody should act today; 2: soon; 3: worth a look. */
  readonly urgency: 0 | 1 | 2 | 3
  /** The condition in words. */
  readonly means: string
  /** What the manager may ask. */
  readonly question: string
  /** From where on it is an alarm; absent if the status alone decides. */
  readonly level?: string
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

const percent = (rate: string): string => `TRY_CAST(round(100 * ${rate}) AS BIGINT) || '%'`
const percentNumber = (rate: string): string => `round(100 * ${rate})`

/** A condition about a survey, in a rule of its own or together with others, with its text and numbers. */
interface Check {
  readonly when: string
  readonly text: string
  readonly numbers: Readonly<Record<string, string>>
}

/** The interviews of the days of the pace, which may be compared with those before, or all interviews. */
type Interviews = 'recent' | 'total'

const before = (rate: string, base: string): string =>
  `CASE WHEN ${base} >= ${INTERVIEWS_MIN} THEN ', before ' || ${percent(rate)} END`

/** A rate against its level. `words` is SQL of the text, without what the rate was before. */
const checkOf =
  (name: string, when: (of: Interviews) => string, words: (rate: string) => string, base: string) =>
  (of: Interviews): Check => {
    const [rate, earlier] = [`${of}_${name}_rate`, `earlier_${name}_rate`]
    const isCompared = of === 'recent'
    return {
      when: `${of}_${base} >= ${LEVEL_INTERVIEWS_MIN} AND ${when(of)}`,
      text: isCompared ? `concat(${words(rate)}, ${before(earlier, `earlier_${base}`)})` : words(rate),
      numbers: {
        [`${name}_percent`]: percentNumber(rate),
        ...(isCompared && { [`${name}_before_percent`]: percentNumber(earlier) }),
      },
    }
  }

const dropOut = checkOf(
  'drop_out',
  (of) => `${of}_drop_out_rate >= drop_out_level`,
  (rate) => `'drop-out ' || ${percent(rate)}`,
  'interviews',
)
const quotaFull = checkOf(
  'quota_full',
  (of) => `${of}_quota_full_rate >= quota_full_level`,
  (rate) => `'quota full for ' || ${percent(rate)} || ' of the interviews'`,
  'interviews',
)
const SOLD_INCIDENCE = { sold_incidence_percent: percentNumber('sold_incidence') }
const incidence = checkOf(
  'incidence',
  (of) => `${of}_incidence_rate < CASE
      WHEN incidence_level IS NOT NULL THEN coalesce(${SOLD_INCIDENCE_MIN} * sold_incidence, incidence_level)
    END`,
  (rate) => `concat('incidence ' || ${percent(rate)}, ', sold with ' || ${percent('sold_incidence')})`,
  'screened',
)
const REJECTED = 'CAST(rejected AS DOUBLE) / (complete + rejected)'
const rejects: Check = {
  when: `complete + rejected >= ${INTERVIEWS_MIN} AND ${REJECTED} >= rejected_level`,
  text: `${percent(REJECTED)} || ' rejected for quality'`,
  numbers: { rejected_percent: percentNumber(REJECTED), rejected: 'rejected', complete: 'complete' },
}
const length: Check = {
  when: `complete >= ${INTERVIEWS_MIN} AND minutes > ${SOLD_LENGTH_MAX} * sold_loi_minutes`,
  text: `minutes_text || ' minutes long, sold with ' || sold_minutes_text`,
  numbers: { minutes: 'minutes', sold_minutes: 'sold_loi_minutes' },
}

/** Of the interviews of a soft launch. */
const TOTALS: readonly Check[] = [dropOut('total'), incidence('total'), quotaFull('total'), rejects, length]

/** A rate that got worse. If it has reached its level, the reason is the level. */
const worse = (base: string, byHowMuch: string, level: Check): string =>
  `(recent_${base} >= ${INTERVIEWS_MIN} AND earlier_${base} >= ${INTERVIEWS_MIN}
    AND ${byHowMuch} >= ${RATE_MOVED_MIN} AND NOT coalesce(${level.when}, false))`
const INCIDENCE_FELL = worse(
  'screened',
  'earlier_incidence_rate - recent_incidence_rate',
  incidence('recent'),
)
const DROP_OUT_ROSE = worse('interviews', 'recent_drop_out_rate - earlier_drop_out_rate', dropOut('recent'))
const movedText = (rate: string, word: string, moved: string): string =>
  `CASE WHEN ${moved} THEN '${word} from ' || ${percent(`earlier_${rate}`)} || ' to ' || ${percent(`recent_${rate}`)} END`
const movedNumbers = (name: string, moved: string) => ({
  [`${name}_before_percent`]: `CASE WHEN ${moved} THEN ${percentNumber(`earlier_${name}_rate`)} END`,
  [`${name}_percent`]: `CASE WHEN ${moved} THEN ${percentNumber(`recent_${name}_rate`)} END`,
})
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
    question: 'Does it miss its due date?',
    level: 'needs more a day than it has',
    floor: `a pace of ${FORECAST_PACE_DAYS_MIN} days, unless the date has passed`,
    example: 'due 8 April, expected 15 May: needs 6.4 a day, has 2.1',
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
    question: 'May it miss its due date?',
    level: 'the end of the 80 % interval is after it',
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
    means: 'Its fieldwork is paused',
    question: 'Should fieldwork go on?',
    example: 'paused for 3 days',
    when: `status = 'deviating_from_specs'`,
    since: 'status_since',
    text: `'paused' || CASE WHEN paused_days > 0 THEN ' for ' || ${counted('paused_days', 'day')} ELSE '' END`,
    numbers: { days: 'paused_days' },
  },
  {
    kind: 'no_complete',
    urgency: 1,
    means: 'In fieldwork for a day or longer, and never had a complete interview',
    question: 'Does it work at all?',
    level: 'no complete interview',
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
    means: `In fieldwork below its target, without a new complete interview for ${STANDS_STILL_DAYS} days`,
    question: 'Has it come to a halt?',
    level: `${STANDS_STILL_DAYS} days without a complete interview`,
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
    means: 'Over its target, and still in fieldwork',
    question: 'Why is it still open?',
    level: '1 more than its target',
    example: 'over target by 3, still open',
    when: `status = 'fieldwork' AND sample_size > 0 AND interviews_count > sample_size`,
    text: `'over target by ' || excess || ', still open'`,
    numbers: { over: 'excess' },
  },
  {
    kind: 'slips',
    urgency: 2,
    means: `Expected ${SLIP_DAYS} or more days later than a week ago, and no longer within the 80 % interval of that day, or no longer expected`,
    question: 'Does it get later?',
    level: `${SLIP_DAYS} days later than a week ago, beyond the 80 % interval`,
    floor: `a pace of ${FORECAST_PACE_DAYS_MIN} days, now and a week ago`,
    example: 'slips 36 days',
    when: `is_open AND expected_before IS NOT NULL AND pace_days >= ${FORECAST_PACE_DAYS_MIN}
    AND (expected_on IS NULL OR (expected_on >= expected_before + ${SLIP_DAYS} AND expected_from > expected_before))`,
    text: `coalesce('slips ' || (expected_on - expected_before) || ' days', 'slips out of sight')`,
    numbers: { days_later: 'expected_on - expected_before' },
  },
  {
    kind: 'far',
    urgency: 2,
    means: `Gains, but by its pace is more than ${FAR_DAYS} days from its target`,
    question: 'Will it ever end?',
    level: `more than ${FAR_DAYS} days to the target`,
    floor: `a pace of ${FAR_PACE_DAYS_MIN} days`,
    example: 'target in 180 days',
    when: `is_open AND NOT stands_still AND gained > 0 AND pace_days >= ${FAR_PACE_DAYS_MIN}
    AND ${FAR_DAYS} * per_day < missing`,
    text: `coalesce('target in ' || days_to_target || ' days', 'target out of sight')`,
    numbers: { days: 'days_to_target' },
  },
  {
    kind: 'drop_out',
    urgency: 2,
    means: `In the days of the pace, at least \`alarms.drop_out\` (${wholePercent(DEFAULT_ALARM_LEVELS.drop_out)}) of at least ${LEVEL_INTERVIEWS_MIN} interviews were dropped`,
    question: 'Why do so many give up?',
    level: `\`alarms.drop_out\`, ${wholePercent(DEFAULT_ALARM_LEVELS.drop_out)}`,
    floor: `${LEVEL_INTERVIEWS_MIN} interviews in the days of the pace`,
    example: 'drop-out 38%, before 17%',
    ...dropOut('recent'),
    when: `is_collecting AND ${dropOut('recent').when}`,
  },
  {
    kind: 'incidence',
    urgency: 2,
    means: `In the days of the pace, the incidence was below ${wholePercent(SOLD_INCIDENCE_MIN)} of the incidence in the plan, or without one below \`alarms.incidence\` (${wholePercent(DEFAULT_ALARM_LEVELS.incidence)}), of at least ${LEVEL_INTERVIEWS_MIN} interviews`,
    question: 'Are these the right people?',
    level: `below ${wholePercent(SOLD_INCIDENCE_MIN)} of the incidence in the plan, else below \`alarms.incidence\`, ${wholePercent(DEFAULT_ALARM_LEVELS.incidence)}`,
    floor: `${LEVEL_INTERVIEWS_MIN} complete or screened out in the days of the pace`,
    example: 'incidence 36%, sold with 50%, before 36%',
    ...incidence('recent'),
    when: `is_collecting AND ${incidence('recent').when}`,
    numbers: { ...incidence('recent').numbers, ...SOLD_INCIDENCE },
  },
  {
    kind: 'quota_full',
    urgency: 2,
    means: `In the days of the pace, a full quota ended at least \`alarms.quota_full\` (${wholePercent(DEFAULT_ALARM_LEVELS.quota_full)}) of at least ${LEVEL_INTERVIEWS_MIN} interviews`,
    question: 'Do we pay for people whom no quota needs?',
    level: `\`alarms.quota_full\`, ${wholePercent(DEFAULT_ALARM_LEVELS.quota_full)}`,
    floor: `${LEVEL_INTERVIEWS_MIN} interviews in the days of the pace`,
    example: 'quota full for 67% of the interviews, before 0%',
    ...quotaFull('recent'),
    when: `is_collecting AND ${quotaFull('recent').when}`,
  },
  {
    kind: 'quality_rejects',
    urgency: 2,
    means: `At least \`alarms.rejected\` (${wholePercent(DEFAULT_ALARM_LEVELS.rejected)}) of the complete interviews, of at least ${INTERVIEWS_MIN}, were rejected for their quality`,
    question: 'Are the interviews any good?',
    level: `\`alarms.rejected\`, ${wholePercent(DEFAULT_ALARM_LEVELS.rejected)}`,
    floor: `${INTERVIEWS_MIN} complete or rejected interviews`,
    example: '17% rejected for quality',
    ...rejects,
    when: `status IN ${IN_FIELD} AND ${rejects.when}`,
  },
  {
    kind: 'source_rejects',
    urgency: 2,
    means: `At one source, at least \`alarms.rejected\` (${wholePercent(DEFAULT_ALARM_LEVELS.rejected)}) of the complete interviews were rejected for their quality, and ${SOURCE_TIMES_MIN} times as many as at the others; of at least ${INTERVIEWS_MIN} here and there`,
    question: 'Which source is bad?',
    level: `\`alarms.rejected\`, ${wholePercent(DEFAULT_ALARM_LEVELS.rejected)}, and ${SOURCE_TIMES_MIN} times as many as at the others`,
    floor: `${INTERVIEWS_MIN} complete or rejected interviews here and elsewhere`,
    example: '18% rejected at Panel B, 4% elsewhere',
    when: `status IN ${IN_FIELD} AND rejects_source_id IS NOT NULL`,
    text: `concat(${percent('rejects_here')}, ' rejected at ', rejects_source, ', ', ${percent('rejects_elsewhere')}, ' elsewhere')`,
    numbers: {
      rejected_percent: percentNumber('rejects_here'),
      elsewhere_percent: percentNumber('rejects_elsewhere'),
    },
    sourceId: 'rejects_source_id',
  },
  {
    kind: 'length',
    urgency: 2,
    means: `The median of at least ${INTERVIEWS_MIN} complete interviews takes more than ${wholePercent(SOLD_LENGTH_MAX)} of the length in the plan`,
    question: 'Is it longer than was sold?',
    level: `above ${wholePercent(SOLD_LENGTH_MAX)} of the length in the plan`,
    floor: `${INTERVIEWS_MIN} complete interviews`,
    example: '12.5 minutes long, sold with 10',
    ...length,
    when: `is_collecting AND ${length.when}`,
  },
  {
    kind: 'soft_launch',
    urgency: 3,
    means: `Pending, and its interviews so far are beyond one of the limits of \`drop_out\`, \`incidence\`, \`quota_full\`, \`quality_rejects\` or \`length\``,
    question: 'May it open to all?',
    level: 'those of `drop_out`, `incidence`, `quota_full`, `quality_rejects`, `length`',
    floor: 'theirs, of all interviews so far',
    example: 'soft launch: drop-out 38%',
    when: `status = 'pending' AND (${TOTALS.map(({ when }) => `coalesce(${when}, false)`).join('\n      OR ')})`,
    text: `'soft launch: ' || concat_ws(
      ', ',
      ${TOTALS.map(({ when, text }) => `CASE WHEN ${when} THEN ${text} END`).join(',\n      ')}
    )`,
    numbers: Object.assign({}, SOLD_INCIDENCE, ...TOTALS.map(({ numbers }) => numbers)),
  },
  {
    kind: 'end_game',
    urgency: 3,
    means: `At least ${wholePercent(END_GAME_MIN)} of its target, and the undecided interviews (manual action, pending analysis) are at least ${wholePercent(UNDECIDED_MIN)} of the missing ones`,
    question: 'Are the last ones here already?',
    level: `undecided: ${wholePercent(UNDECIDED_MIN)} of the missing ones`,
    floor: `${wholePercent(END_GAME_MIN)} of the target`,
    example: '12 missing, 5 undecided',
    when: `is_open AND CAST(interviews_count AS DOUBLE) >= ${END_GAME_MIN} * sample_size
    AND undecided >= ${UNDECIDED_MIN} * missing`,
    text: `missing || ' missing, ' || undecided || ' undecided'`,
    numbers: { missing: 'missing', undecided: 'undecided' },
  },
  {
    kind: 'sources_behind',
    urgency: 3,
    means: `A source lacks at least ${wholePercent(BEHIND_MIN)} of its target to be as complete as its survey`,
    question: 'Which source needs a push?',
    level: `${wholePercent(BEHIND_MIN)} of its target behind the survey`,
    example: '2 sources behind, by 91 interviews',
    when: `status IN ${IN_FIELD} AND sources_behind > 0`,
    text: `${counted('sources_behind', 'source')} || ' behind, by ' || ${counted('behind', 'interview')}`,
    numbers: { sources: 'sources_behind', behind: 'behind' },
    sourceId: 'source_behind_most',
  },
  {
    kind: 'rates_moved',
    urgency: 3,
    means: `Incidence fell or drop-out rose by at least ${wholePercent(RATE_MOVED_MIN)} in the days of the pace, with at least ${INTERVIEWS_MIN} interviews in them and before`,
    question: 'What has got worse?',
    level: `${wholePercent(RATE_MOVED_MIN)} of the interviews, and below the level`,
    floor: `${INTERVIEWS_MIN} interviews in the days of the pace, and before`,
    example: 'incidence from 71% to 50%',
    when: `is_collecting AND (${INCIDENCE_FELL} OR ${DROP_OUT_ROSE})`,
    text: `concat_ws(
      ', ',
      ${movedText('incidence_rate', 'incidence', INCIDENCE_FELL)},
      ${movedText('drop_out_rate', 'drop-out', DROP_OUT_ROSE)}
    )`,
    numbers: { ...movedNumbers('incidence', INCIDENCE_FELL), ...movedNumbers('drop_out', DROP_OUT_ROSE) },
  },
  {
    kind: 'stale',
    urgency: 3,
    means: `Not closed, and not read for ${STALE_HOURS} hours, or the last reading failed`,
    question: 'Are the numbers of today?',
    level: `${STALE_HOURS} hours`,
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
