/**
 * The rates and the length of a survey against their levels, and against what they were before: conditions with text and numbers, for the
 * rules of the view `needs_action` (`needs-action-rules.ts`). A rule of its own shows each, and `soft_launch` shows them together.
 */

/** What the plan has sold is missed by more than this part of it. */
export const [SOLD_INCIDENCE_MIN, SOLD_LENGTH_MAX] = [0.8, 1.2]
export const RATE_MOVED_MIN = 0.1
/** The least interviews of each rate that is compared with another one, and of a length. */
export const INTERVIEWS_MIN = 20
/** The least interviews of a rate that is compared with a level: of 20 with a rate of 20 %, one in five looks like 30 % or more. */
export const LEVEL_INTERVIEWS_MIN = 50

export const percent = (rate: string): string => `TRY_CAST(round(100 * ${rate}) AS BIGINT) || '%'`
export const percentNumber = (rate: string): string => `round(100 * ${rate})`

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
      WHEN incidence_level IS NOT NULL THEN coalesce(${SOLD_INCIDENCE_MIN} * sold_incidence, incidence_level)
    END`,
  (rate) => `concat('incidence ' || ${percent(rate)}, ', sold with ' || ${percent('sold_incidence')})`,
  'screened',
)
const REJECTED = 'CAST(rejected AS DOUBLE) / (complete + rejected)'
export const rejects: Check = {
  when: `complete + rejected >= ${INTERVIEWS_MIN} AND ${REJECTED} >= rejected_level`,
  text: `${percent(REJECTED)} || ' rejected for quality'`,
  numbers: { rejected_percent: percentNumber(REJECTED), rejected: 'rejected', complete: 'complete' },
}
export const length: Check = {
  when: `complete >= ${INTERVIEWS_MIN} AND minutes > ${SOLD_LENGTH_MAX} * sold_loi_minutes`,
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

/** Both rates that can get worse. */
export const ratesMoved: Check = {
  when: `(${INCIDENCE_FELL} OR ${DROP_OUT_ROSE})`,
  text: `concat_ws(
      ', ',
      ${movedText('incidence_rate', 'incidence', INCIDENCE_FELL)},
      ${movedText('drop_out_rate', 'drop-out', DROP_OUT_ROSE)}
    )`,
  numbers: { ...movedNumbers('incidence', INCIDENCE_FELL), ...movedNumbers('drop_out', DROP_OUT_ROSE) },
}
