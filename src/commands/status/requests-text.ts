/** Where the requests of runs went, for people: what was asked for by why, and what was saved. */

import { counted, humanCount } from '../../base/human.js'
import { formatInstant } from '../../model/instant.js'
import { SPENDING_KINDS, SPENDING_REASONS, type Spending, type SpendingKind } from '../../model/spending.js'
import type { RunSpending } from '../../warehouse/history/spending.js'
import { SPENDING_WORDS } from '../text/spending-words.js'
import { textTable } from '../text/text-table.js'

export const renderSpending = (runs: readonly RunSpending[]): string =>
  runs.length === 0 ? 'no run has recorded its requests yet' : runs.map(renderRun).join('\n\n')

const renderRun = ({ account, started_at, requests, requests_estimated, spending }: RunSpending): string => {
  const saved = spending.reduce((sum, one) => sum + one.saved, 0)
  const planned = requests_estimated === null ? '' : `, ${humanCount(requests_estimated)} were planned`
  return [
    `requests of ${account}, run of ${formatInstant(started_at)}: ${counted(requests ?? 0, 'request')}${planned}; ${humanCount(saved)} saved`,
    textTable(tableOf(spending), '  '),
  ].join('\n')
}

const tableOf = (spending: readonly Spending[]): readonly (readonly string[])[] => {
  const kinds = SPENDING_KINDS.filter((kind) => spending.some((one) => one.kind === kind))
  const reasons = SPENDING_REASONS.filter((reason) => spending.some((one) => one.reason === reason))
  const rowOf = (mine: readonly Spending[]) => kinds.map((kind) => cell(mine, kind))
  return [
    ['why', ...kinds.map((kind) => SPENDING_WORDS[kind])],
    ...reasons.map((reason) => [
      SPENDING_WORDS[reason],
      ...rowOf(spending.filter((one) => one.reason === reason)),
    ]),
    ['in all', ...rowOf(spending)],
  ]
}

/** `17`, `17 (2 saved)`, `(2 saved)` */
const cell = (spending: readonly Spending[], kind: SpendingKind): string => {
  const mine = spending.filter((one) => one.kind === kind)
  const made = mine.reduce((sum, one) => sum + one.requests, 0)
  const saved = mine.reduce((sum, one) => sum + one.saved, 0)
  return (
    [made === 0 ? '' : humanCount(made), saved === 0 ? '' : `(${humanCount(saved)} saved)`]
      .filter((part) => part !== '')
      .join(' ') || '-'
  )
}
