/**
 * API document, "Fieldwork progress": the indicators by their formulas, from the counts in the same answer, so that
 * nothing can have changed in between. A rate that the service rounds is held to the digits that it prints.
 */
import { integerOf } from '../json.js'
import type { Evidence } from '../read/evidence.js'
import { isIgnored, type ProgressReading } from '../read/reader.js'
import { type Failure, holdEach, passWith, type Rule, unseen, type Verdict } from '../verdict.js'

const SECTION = 'Fieldwork progress'
const RELATIVE_TOLERANCE = 1e-9
/** Fewer decimals are no rounding but another number. */
const DECIMALS_MIN = 2

/** Part and whole of a rate; null where a count cannot be read. */
interface Fraction {
  readonly part: number
  readonly whole: number
}

type FractionOf = (reading: ProgressReading) => Fraction | null

/** A number that a service prints, and what it should be. */
interface Printed {
  readonly asked: string
  readonly name: string
  readonly value: number
  readonly expected: number
  /** How it was worked out. */
  readonly how: string
}

/** Holds printed numbers to what they should be; rounded ones to the digits that the service prints. */
export const holdPrinted = (numbers: readonly Printed[], nothing: string): Verdict => {
  const decimals = Math.max(0, ...numbers.map(({ value }) => decimalsOf(value)))
  const isRounding = decimals >= DECIMALS_MIN
  const isExact = ({ value, expected }: Printed) =>
    Math.abs(value - expected) <= RELATIVE_TOLERANCE * Math.max(Math.abs(expected), Number.MIN_VALUE)
  // One in the last digit: some services cut off where others round.
  const isClose = ({ value, expected }: Printed) =>
    isRounding && Math.abs(value - expected) <= 10 ** -decimals * (1 + RELATIVE_TOLERANCE)
  const verdict = holdEach(
    numbers,
    (number): Failure | null => {
      if (isExact(number) || isClose(number)) return null
      const { asked, name, value, expected, how } = number
      return { asked, expected: `${name} ${how} = ${expected}`, got: `${name} ${value}` }
    },
    nothing,
  )
  if (verdict.verdict !== 'pass' || numbers.every(isExact)) return verdict
  return passWith(`to the ${decimals} decimals that the service gives`)
}

/** Digits behind the point, as a program would print the number. */
const decimalsOf = (value: number): number => {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  return Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - Number(exponent))
}

const count = ({ counts }: ProgressReading, ...statuses: readonly string[]): number | null =>
  statuses.reduce<number | null>((sum, status) => {
    const individuals = counts.get(status)
    return sum === null || individuals === undefined ? null : sum + individuals
  }, 0)

const fraction = (part: number | null, whole: number | null): Fraction | null =>
  part === null || whole === null ? null : { part, whole }

/** The rates, and what each is made of. */
export const RATES: Readonly<Record<string, { readonly text: string; readonly of: FractionOf }>> = {
  completion_rate: {
    text: 'complete / sample_size',
    of: (reading) => fraction(count(reading, 'complete'), integerOf(reading.progress.sample_size)),
  },
  questionnaire_incidence_rate: {
    text: 'complete / (complete + screen_out + quota_full + incomplete)',
    of: (reading) =>
      fraction(
        count(reading, 'complete'),
        count(reading, 'complete', 'screen_out', 'quota_full', 'incomplete'),
      ),
  },
  target_incidence_rate: {
    text: 'complete / (complete + screen_out)',
    of: (reading) => fraction(count(reading, 'complete'), count(reading, 'complete', 'screen_out')),
  },
  drop_out_rate: {
    text: 'incomplete / all interviews shown',
    of: (reading) => fraction(count(reading, 'incomplete'), reading.total),
  },
}

const formula = (name: string, text: string, of: FractionOf): Rule => ({
  id: `formula.${name}`,
  section: SECTION,
  text: `${name} = ${text}`,
  passive: true,
  check: ({ reader }) =>
    holdPrinted(
      reader.seen.progresses.flatMap((reading): readonly Printed[] => {
        const parts = of(reading)
        const value = reading.progress[name]
        if (parts === null || parts.whole <= 0 || typeof value !== 'number') return []
        const { part, whole } = parts
        return [{ asked: reading.asked, name, value, expected: part / whole, how: `${part} / ${whole}` }]
      }),
      'no survey with such interviews has been seen',
    ),
})

const incidenceRate: Rule = {
  id: 'formula.incidence_rate',
  section: 'Versioning',
  text: 'incidence_rate is target_incidence_rate, or gone',
  passive: true,
  check: ({ reader: { seen, show } }) => {
    if (
      seen.progresses.length > 0 &&
      seen.progresses.every(({ progress }) => !('incidence_rate' in progress))
    ) {
      return passWith('it is gone already')
    }
    return holdEach(
      seen.progresses,
      ({ asked, progress }): Failure | null | 'skip' => {
        const { incidence_rate: old, target_incidence_rate: value } = progress
        if (old === undefined || value === undefined) return 'skip'
        return old === value
          ? null
          : { asked, expected: `incidence_rate ${show(value)}, as target_incidence_rate`, got: show(old) }
      },
      'no progress was seen',
    )
  },
}

const interviewsCount: Rule = {
  id: 'progress.interviews-are-complete',
  section: SECTION,
  text: 'interviews_count is the number of complete interviews',
  passive: true,
  check: ({ reader: { seen, show } }) =>
    holdEach(
      seen.progresses,
      ({ asked, progress, counts }): Failure | null | 'skip' => {
        const complete = counts.get('complete')
        if (complete === undefined || progress.interviews_count === complete)
          return complete === undefined ? 'skip' : null
        return {
          asked,
          expected: `interviews_count ${complete}, as complete.individuals`,
          got: `interviews_count ${show(progress.interviews_count)}`,
        }
      },
      'no progress was seen',
    ),
}

/** What the percentages of one answer add up to where nothing is left out: 100, or 1. */
export const percentageScale = ({ reader }: Evidence): 1 | 100 | null => {
  const shares = shown(reader.seen.progresses).filter(({ individuals }) => individuals > 0)
  if (shares.length === 0) return null
  const close = (scale: number) =>
    shares.filter(
      ({ value, individuals, total }) => Math.abs(value - (scale * individuals) / total) <= scale / 50,
    )
  return close(1).length > close(100).length ? 1 : 100
}

interface Share {
  readonly asked: string
  readonly status: string
  readonly value: number
  readonly individuals: number
  readonly total: number
}

const shown = (progresses: readonly ProgressReading[]): readonly Share[] =>
  progresses.flatMap(({ asked, progress, counts, total }) => {
    if (total === null || total === 0) return []
    const entries = Object.entries(Object(progress.interview_count_by_status))
    return entries.flatMap(([status, entry]: readonly [string, unknown]): readonly Share[] => {
      const { percentage }: { percentage?: unknown } = Object(entry)
      const individuals = counts.get(status)
      if (typeof percentage !== 'number' || individuals === undefined || isIgnored(status)) return []
      return [{ asked, status, value: percentage, individuals, total }]
    })
  })

const percentages: Rule = {
  id: 'progress.percentages',
  section: SECTION,
  text: 'percentage is the share of individuals in all interviews shown',
  passive: true,
  check: (evidence): Verdict => {
    const scale = percentageScale(evidence)
    if (scale === null) return unseen('no survey with interviews has been seen')
    const shares = shown(evidence.reader.seen.progresses)
    const verdict = holdPrinted(
      shares.map(({ asked, status, value, individuals, total }) => ({
        asked,
        name: `${status}.percentage`,
        value,
        expected: (scale * individuals) / total,
        how: `${scale} * ${individuals} / ${total}`,
      })),
      'no percentage can be read',
    )
    if (verdict.verdict !== 'pass') return verdict
    return passWith([`of ${scale}`, verdict.note ?? []].flat().join(', '))
  },
}

export const FORMULA_RULES: readonly Rule[] = [
  interviewsCount,
  percentages,
  ...Object.entries(RATES).map(([name, { text, of }]) => formula(name, text, of)),
  incidenceRate,
]
