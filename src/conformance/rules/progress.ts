/**
 * API document, "Fieldwork progress" and "Interview status". The counts come from the same answer, so nothing can change in between. A
 * rate that the service rounds must agree to the digits that it prints.
 */
import {
  conforms,
  INTERVIEW_STATUSES,
  integerOf,
  isObject,
  PROGRESS_FIELDS,
  STATUS_ENTRY_FIELDS,
} from '../fields.js'
import type { Evidence } from '../read/evidence.js'
import { isIgnored, type ProgressReading, type Reader } from '../read/reader.js'
import { type EachRule, each, fieldRules, judgeEach, type Rule } from '../rule.js'
import { fail, PASS, passWith, Unseen, type Verdict } from '../verdict.js'

const SECTION = 'Fieldwork progress'
const NO_INTERVIEWS = 'no survey seen has the interviews that the rule needs'
const RELATIVE_TOLERANCE = 1e-9
/** With fewer decimals, a difference counts as an error, not as rounding. */
const DECIMALS_MIN = 2

const eachProgress = (rule: Omit<EachRule<ProgressReading>, 'items' | 'nothing'>): Rule =>
  each({ ...rule, items: ({ seen }) => seen.progresses, nothing: 'no progress was seen' })

/** A number that a service prints, what it should be, and how that is calculated. */
interface Printed extends Readonly<Record<'request' | 'name' | 'how', string>> {
  readonly value: number
  readonly expected: number
}

/** Compares printed numbers with the expected ones, to the digits that the service prints. */
const checkPrinted = (numbers: readonly Printed[], nothing: string): Verdict => {
  const decimals = Math.max(0, ...numbers.map(({ value }) => decimalsOf(value)))
  const isRounding = decimals >= DECIMALS_MIN
  const isExact = ({ value, expected }: Printed) =>
    Math.abs(value - expected) <= RELATIVE_TOLERANCE * Math.max(Math.abs(expected), Number.MIN_VALUE)
  // One unit of the last digit: some services cut off where others round.
  const isClose = ({ value, expected }: Printed) =>
    isRounding && Math.abs(value - expected) <= 10 ** -decimals * (1 + RELATIVE_TOLERANCE)
  const verdict = judgeEach(
    numbers,
    (number) => {
      if (isExact(number) || isClose(number)) return PASS
      const { request, name, value, expected, how } = number
      return fail(request, `${name} ${how} = ${expected}`, `${name} ${value}`)
    },
    nothing,
  )
  if (verdict.verdict !== 'pass' || numbers.every(isExact)) return verdict
  return passWith(`to the ${decimals} decimals that the service gives`)
}

const decimalsOf = (value: number): number => {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  return Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - Number(exponent))
}

/** A rate: the count of the status `part`, divided by `whole`. `whole` is null if one of its counts cannot be read. */
interface Rate {
  readonly text: string
  readonly part: string
  readonly whole: (reading: ProgressReading) => number | null
}

const sumOf =
  (...statuses: readonly string[]) =>
  ({ counts }: ProgressReading): number | null =>
    statuses.reduce<number | null>((sum, status) => {
      const individuals = counts.get(status)
      return sum === null || individuals === undefined ? null : sum + individuals
    }, 0)

export const RATES: Readonly<Record<string, Rate>> = {
  completion_rate: {
    text: 'complete / sample_size',
    part: 'complete',
    whole: ({ progress }) => integerOf(progress.sample_size),
  },
  questionnaire_incidence_rate: {
    text: 'complete / (complete + screen_out + quota_full + incomplete)',
    part: 'complete',
    whole: sumOf('complete', 'screen_out', 'quota_full', 'incomplete'),
  },
  target_incidence_rate: {
    text: 'complete / (complete + screen_out)',
    part: 'complete',
    whole: sumOf('complete', 'screen_out'),
  },
  drop_out_rate: {
    text: 'incomplete / all interviews shown',
    part: 'incomplete',
    whole: ({ total }) => total,
  },
}

const formula = (name: string, { text, part, whole }: Rate): Rule => ({
  id: `formula.${name}`,
  section: SECTION,
  text: `${name} = ${text}`,
  when: 'passive',
  check: ({ reader }) =>
    checkPrinted(
      reader.seen.progresses.flatMap((reading): readonly Printed[] => {
        const [count, all, value] = [reading.counts.get(part), whole(reading), reading.progress[name]]
        if (count === undefined || all === null || all <= 0 || typeof value !== 'number') return []
        return [{ request: reading.request, name, value, expected: count / all, how: `${count} / ${all}` }]
      }),
      NO_INTERVIEWS,
    ),
})

/** `incidence_rate` is deprecated: a service that no longer shows it breaks no rule. */
const mayBeGone = (rule: Rule): Rule => ({
  ...rule,
  check: (evidence: Evidence) => {
    const { progresses } = evidence.reader.seen
    const isShown = progresses.some(({ progress }) => 'incidence_rate' in progress)
    const isGone = progresses.length > 0 && !isShown
    return isGone ? passWith('the service no longer sends it') : rule.check(evidence)
  },
})

/** The percentages of `interview_count_by_status`, in readings with interviews. */
const percentagesOf = ({ seen }: Reader) =>
  seen.progresses.flatMap(({ request, progress, counts, total }) => {
    const byStatus = progress.interview_count_by_status
    if (total === null || total === 0 || !isObject(byStatus)) return []
    return [...counts].flatMap(([status, individuals]) => {
      const entry = byStatus[status]
      const value = isObject(entry) ? entry.percentage : null
      if (typeof value !== 'number' || isIgnored(status)) return []
      return [{ request, status, value, individuals, total }]
    })
  })

/** The sum of all percentages of an answer: 100, or 1; null if no survey with interviews was seen. */
export const percentageScale = (reader: Reader): 1 | 100 | null => {
  const percentages = percentagesOf(reader).filter(({ individuals }) => individuals > 0)
  if (percentages.length === 0) return null
  const close = (scale: number) =>
    percentages.filter(
      ({ value, individuals, total }) => Math.abs(value - (scale * individuals) / total) <= scale / 50,
    )
  return close(1).length > close(100).length ? 1 : 100
}

/** A rate over zero and the median length of no interview have no value. The document does not say how that is shown. */
const isOpen = (reading: ProgressReading, name: string): boolean => {
  if (name === 'length_of_interview') return reading.counts.get('complete') === 0
  const rate = RATES[name === 'incidence_rate' ? 'target_incidence_rate' : name]
  return rate?.whole(reading) === 0
}

const statusEntry = (status: string): Rule => {
  const text = `${status}: individuals (integer) and percentage (number)`
  return eachProgress({
    id: `progress.status.${status}`,
    section: 'Interview status',
    text,
    judge: ({ request, progress: { interview_count_by_status: byStatus }, total }, { show }) => {
      if (!isObject(byStatus)) return null
      const entry = byStatus[status]
      const isRight =
        isObject(entry) &&
        Object.entries(STATUS_ENTRY_FIELDS).every(
          // The document does not say how a percentage of no interviews is shown.
          ([name, field]) => (name === 'percentage' && total === 0) || conforms(entry[name], field),
        )
      return isRight ? PASS : fail(request, text, show(entry))
    },
  })
}

export const PROGRESS_RULES: readonly Rule[] = [
  ...fieldRules(
    'progress',
    SECTION,
    PROGRESS_FIELDS,
    ({ seen }) =>
      seen.progresses.map((reading) => ({
        request: reading.request,
        name: `survey ${reading.surveyId}`,
        record: reading.progress,
        isOpen: (name) => isOpen(reading, name),
      })),
    NO_INTERVIEWS,
  ).map((rule) => (rule.id === 'progress.incidence_rate' ? mayBeGone(rule) : rule)),
  ...INTERVIEW_STATUSES.map(statusEntry),
  eachProgress({
    id: 'progress.no-ignored',
    section: 'Interview status',
    text: 'interviews with the status Ignored are omitted',
    judge: ({ request, progress: { interview_count_by_status: byStatus } }) =>
      isObject(byStatus) && Object.keys(byStatus).some(isIgnored)
        ? fail(request, 'no entry for Ignored', 'an entry for Ignored')
        : PASS,
  }),
  eachProgress({
    id: 'progress.interviews-are-complete',
    section: SECTION,
    text: 'interviews_count is the number of complete interviews',
    judge: ({ request, progress: { interviews_count: count }, counts }, { show }) => {
      const complete = counts.get('complete')
      if (complete === undefined) return null
      if (count === complete) return PASS
      const expected = `interviews_count ${complete}, as complete.individuals`
      return fail(request, expected, `interviews_count ${show(count)}`)
    },
  }),
  {
    id: 'progress.percentages',
    section: SECTION,
    text: 'percentage = individuals / all interviews shown, out of 100 or 1',
    when: 'passive',
    check: ({ reader }) => {
      const scale = percentageScale(reader)
      if (scale === null) throw new Unseen('no survey with interviews has been seen')
      const numbers = percentagesOf(reader).map(({ request, status, value, individuals, total }) => ({
        request,
        name: `${status}.percentage`,
        value,
        expected: (scale * individuals) / total,
        how: `${scale} * ${individuals} / ${total}`,
      }))
      const verdict = checkPrinted(numbers, 'no percentage can be read')
      if (verdict.verdict !== 'pass') return verdict
      return passWith(verdict.note === undefined ? `out of ${scale}` : `out of ${scale}, ${verdict.note}`)
    },
  },
  ...Object.entries(RATES).map(([name, rate]) => formula(name, rate)),
  mayBeGone(
    eachProgress({
      id: 'formula.incidence_rate',
      section: 'Versioning',
      text: 'incidence_rate equals target_incidence_rate, or is gone',
      judge: ({ request, progress: { incidence_rate: old, target_incidence_rate: value } }, { show }) => {
        if (old === undefined || value === undefined) return null
        if (old === value) return PASS
        return fail(request, `incidence_rate ${show(value)}, as target_incidence_rate`, show(old))
      },
    }),
  ),
]
