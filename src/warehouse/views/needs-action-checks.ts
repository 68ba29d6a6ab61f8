/**
 * The rates and the length of a survey against their levels, and against what they were before: conditions with text and numbers, for the
 * rules of the view `needs_action` (`needs-action-rules.ts`) and for the view `good_news`. A rule of its own shows each, and `soft_launch`
 * shows them together.
 */
import { ALARMS, DEFAULT_ALARM_LEVELS } from '../../model/alarms.js'
import { minutesOf } from './as-sold.js'
import { allIndividuals, individualsOf, QUALITY_REJECTS } from './interview-counts.js'

/** What the plan has sold is missed by more than this part of it. */
export const [SOLD_INCIDENCE_MIN, SOLD_LENGTH_MAX] = [0.8, 1.2]
export const RATE_MOVED_MIN = 0.1
/** The least interviews of each rate that is compared with another one, and of a length. */
export const INTERVIEWS_MIN = 20
/** The least interviews of a rate that is compared with a level: of 20 with a rate of 20 %, one in five looks like 30 % or more. */
export const LEVEL_INTERVIEWS_MIN = 50
/** A survey in fieldwork is in its soft launch up to this part of its target. */
export const SOFT_LAUNCH_MAX = 0.1

/** Without the noise of binary fractions, in which 1.2 * 12 is below 14.4, and 0.8 * 0.4 above 0.32. The quotient of two counts has none. */
const partOf = (part: number, sold: string): string => `round(${part} * ${sold}, 6)`

export const percent = (rate: string): string => `TRY_CAST(round(100 * ${rate}) AS BIGINT) || '%'`
export const percentNumber = (rate: string): string => `round(100 * ${rate})`

/** One row. Before the first sync has stored its settings, the defaults count. */
export const LEVELS_STEP = `levels AS (
  SELECT
    ${ALARMS.map(
      (alarm) =>
        `CASE WHEN count(*) = 0 THEN ${DEFAULT_ALARM_LEVELS[alarm]} ELSE max(level) FILTER (alarm = '${alarm}') END AS ${alarm}_level`,
    ).join(',\n    ')}
  FROM _sync.alarm_levels
)`

/** Columns of all interviews so far, over rows `p` of `survey_pace` and `g` of `survey_progress`. */
export const CHECKED_COUNTS = `${individualsOf(['complete'], 'g')} AS complete,
    ${individualsOf(QUALITY_REJECTS, 'g')} AS rejected,
    ${individualsOf(['complete', 'screen_out'], 'g')} AS total_screened,
    g.incomplete_individuals AS dropped,
    g.quota_full_individuals AS quota_full,
    ${allIndividuals('g')} AS total_interviews,
    ${minutesOf('p.length_of_interview')} AS minutes`

/** Minutes, with one decimal if it is not 0. */
const minutesText = (minutes: string): string =>
  `regexp_replace(CAST(round(${minutes}, 1) AS VARCHAR), '\\.0$', '')`

/** Whether fieldwork runs below its target, or without one. */
const IS_COLLECTING = `(status = 'fieldwork' AND coalesce(interviews_count < nullif(sample_size, 0), true))`

/** Columns over those counts and the columns of `survey_pace`. */
export const CHECKED_FACTS = `${IS_COLLECTING} AS is_collecting,
    coalesce(
      status = 'pending' OR (${IS_COLLECTING} AND CAST(interviews_count AS DOUBLE) / nullif(sample_size, 0) <= ${SOFT_LAUNCH_MAX}), false
    ) AS is_soft_launch,
    CAST(dropped AS DOUBLE) / nullif(total_interviews, 0) AS total_drop_out_rate,
    CAST(quota_full AS DOUBLE) / nullif(total_interviews, 0) AS total_quota_full_rate,
    CAST(complete AS DOUBLE) / nullif(total_screened, 0) AS total_incidence_rate,
    ${minutesText('minutes')} AS minutes_text,
    ${minutesText('sold_loi_minutes')} AS sold_minutes_text`

/** A condition about a survey, in a rule of its own or together with others, with its text and numbers. */
export interface Check {
  /** Whether there are enough interviews to say something. */
  readonly hasFloor: string
  /** Whether, besides, the level is passed. */
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
    const hasFloor = `${of}_${base} >= ${LEVEL_INTERVIEWS_MIN}`
    return {
      hasFloor,
      when: `${hasFloor} AND ${when(of)}`,
      text: isCompared ? `concat(${words(rate)}, ${before(earlier, `earlier_${base}`)})` : words(rate),
      numbers: {
        [`${name}_percent`]: percentNumber(rate),
        ...(isCompared && { [`${name}_before_percent`]: percentNumber(earlier) }),
      },
    }
  }

export const dropOut = checkOf(
  'drop_out',
  (of) => `${of}_drop_out_rate >= drop_out_level`,
  (rate) => `'drop-out ' || ${percent(rate)}`,
  'interviews',
)
export const quotaFull = checkOf(
  'quota_full',
  (of) => `${of}_quota_full_rate >= quota_full_level`,
  (rate) => `'quota full for ' || ${percent(rate)} || ' of the interviews'`,
  'interviews',
)
export const SOLD_INCIDENCE = { sold_incidence_percent: percentNumber('sold_incidence') }
export const incidence = checkOf(
  'incidence',
  (of) => `${of}_incidence_rate < CASE
      WHEN incidence_level IS NOT NULL THEN coalesce(${partOf(SOLD_INCIDENCE_MIN, 'sold_incidence')}, incidence_level)
    END`,
  (rate) => `concat('incidence ' || ${percent(rate)}, ', sold with ' || ${percent('sold_incidence')})`,
  'screened',
)
const REJECTED = 'CAST(rejected AS DOUBLE) / nullif(complete + rejected, 0)'
const REJECTS_FLOOR = `complete + rejected >= ${INTERVIEWS_MIN}`
export const rejects: Check = {
  hasFloor: REJECTS_FLOOR,
  when: `${REJECTS_FLOOR} AND ${REJECTED} >= rejected_level`,
  text: `${percent(REJECTED)} || ' rejected for quality'`,
  numbers: { rejected_percent: percentNumber(REJECTED), rejected: 'rejected', complete: 'complete' },
}
const LENGTH_FLOOR = `complete >= ${INTERVIEWS_MIN}`
export const length: Check = {
  hasFloor: LENGTH_FLOOR,
  when: `${LENGTH_FLOOR} AND minutes > ${partOf(SOLD_LENGTH_MAX, 'sold_loi_minutes')}`,
  text: `minutes_text || ' minutes long, sold with ' || sold_minutes_text`,
  numbers: { minutes: 'minutes', sold_minutes: 'sold_loi_minutes' },
}

/** Of the interviews of a soft launch. */
export const TOTALS: readonly Check[] = [
  dropOut('total'),
  incidence('total'),
  quotaFull('total'),
  rejects,
  length,
]

/** A rate that moved from the days before to the days of the pace: `byHowMuch` is SQL. */
const moved = (name: string, word: string, base: string, byHowMuch: string): Check => {
  const hasFloor = `recent_${base} >= ${INTERVIEWS_MIN} AND earlier_${base} >= ${INTERVIEWS_MIN}`
  const [recent, earlier] = [`recent_${name}_rate`, `earlier_${name}_rate`]
  return {
    hasFloor,
    when: `${hasFloor} AND round(${byHowMuch}, 6) >= ${RATE_MOVED_MIN}`,
    text: `'${word} from ' || ${percent(earlier)} || ' to ' || ${percent(recent)}`,
    numbers: {
      [`${name}_before_percent`]: percentNumber(earlier),
      [`${name}_percent`]: percentNumber(recent),
    },
  }
}
const [INCIDENCE_ROSE, DROP_OUT_ROSE] = [
  'recent_incidence_rate - earlier_incidence_rate',
  'recent_drop_out_rate - earlier_drop_out_rate',
]
export const incidenceRose = moved('incidence', 'incidence', 'screened', INCIDENCE_ROSE)
export const dropOutFell = moved('drop_out', 'drop-out', 'interviews', `-(${DROP_OUT_ROSE})`)

/** Rates that got worse. If one has reached its level, the reason is the level. */
const WORSE = [
  { ...moved('incidence', 'incidence', 'screened', `-(${INCIDENCE_ROSE})`), level: incidence('recent') },
  { ...moved('drop_out', 'drop-out', 'interviews', DROP_OUT_ROSE), level: dropOut('recent') },
].map(({ level, ...check }) => ({
  ...check,
  when: `(${check.when} AND NOT coalesce(${level.when}, false))`,
}))

export const ratesMoved = {
  when: `(${WORSE.map(({ when }) => when).join(' OR ')})`,
  text: `concat_ws(
      ', ',
      ${WORSE.map(({ when, text }) => `CASE WHEN ${when} THEN ${text} END`).join(',\n      ')}
    )`,
  numbers: Object.fromEntries(
    WORSE.flatMap(({ when, numbers }) =>
      Object.entries(numbers).map(([name, sql]) => [name, `CASE WHEN ${when} THEN ${sql} END`]),
    ),
  ),
}
