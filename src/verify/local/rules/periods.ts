/** Rules of the views of periods: no row holds before it begins, or at the same time as the next one. */
import { qualified, quote } from '../../../warehouse/connection/ddl.js'
import {
  sampleSourceProgressPeriods,
  surveyProgressPeriods,
} from '../../../warehouse/views/progress-periods.js'
import { sampleSourcePeriods, surveyPeriods } from '../../../warehouse/views/version-periods.js'
import type { ViewDeclaration } from '../../../warehouse/views/view-declaration.js'
import { list, named, type Rule } from '../rule.js'

const PERIODS = [
  { view: surveyPeriods, from: 'valid_from', to: 'valid_to' },
  { view: sampleSourcePeriods, from: 'valid_from', to: 'valid_to' },
  { view: surveyProgressPeriods, from: 'observed_at', to: 'ended_at' },
  { view: sampleSourceProgressPeriods, from: 'observed_at', to: 'ended_at' },
] as const

const periodRules = (view: ViewDeclaration, from: string, to: string): readonly Rule[] => {
  const record = view.key.filter((name) => name !== from)
  return [
    {
      rule: 'periods_end_after_they_begin',
      where: view.name,
      says: 'rows end before they begin, or are confirmed before that or after their end',
      sql: `SELECT ${named(view.key)} FROM ${qualified(view)}
        WHERE confirmed_until < ${quote(from)} OR confirmed_until > ${quote(to)} OR ${quote(to)} < ${quote(from)}`,
    },
    {
      rule: 'periods_do_not_overlap',
      where: view.name,
      says: 'rows hold at the same time as the next one',
      sql: `SELECT ${named(view.key)} FROM (SELECT ${list([...view.key, to])},
          lead(${quote(from)}) OVER (PARTITION BY ${list(record)} ORDER BY ${quote(from)}) AS next_at FROM ${qualified(view)})
        WHERE ${quote(to)} > next_at OR (${quote(to)} IS NULL AND next_at IS NOT NULL)`,
    },
  ]
}

export const PERIOD_RULES: readonly Rule[] = PERIODS.flatMap(({ view, from, to }) =>
  periodRules(view, from, to),
)
