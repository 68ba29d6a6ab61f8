/** The output of `status --requests` for people: the requests of each run by reason and kind, and the saved ones. */

import { counted, humanCount } from '../../base/human.js'
import { formatInstant } from '../../model/instant.js'
import {
  REQUEST_KINDS,
  REQUEST_REASONS,
  type RequestKind,
  type RequestUsage,
} from '../../model/request-usage.js'
import type { RunRequestUsage } from '../../warehouse/history/request-usage.js'
import { REQUEST_USAGE_WORDS } from '../text/request-usage-words.js'
import { textTable } from '../text/text-table.js'

export const renderRequestUsage = (runs: readonly RunRequestUsage[]): string =>
  runs.length === 0 ? 'no run has recorded its requests yet' : runs.map(renderRun).join('\n\n')

const renderRun = ({
  account,
  started_at,
  requests,
  requests_estimated,
  requestUsage,
}: RunRequestUsage): string => {
  const saved = requestUsage.reduce((sum, one) => sum + one.saved, 0)
  const planned = requests_estimated === null ? '' : `, ${humanCount(requests_estimated)} were planned`
  return [
    `requests of ${account}, run of ${formatInstant(started_at)}: ${counted(requests ?? 0, 'request')}${planned}; ${humanCount(saved)} saved`,
    textTable(tableOf(requestUsage), '  '),
  ].join('\n')
}

const tableOf = (requestUsage: readonly RequestUsage[]): readonly (readonly string[])[] => {
  const kinds = REQUEST_KINDS.filter((kind) => requestUsage.some((one) => one.kind === kind))
  const reasons = REQUEST_REASONS.filter((reason) => requestUsage.some((one) => one.reason === reason))
  const rowOf = (mine: readonly RequestUsage[]) => kinds.map((kind) => cell(mine, kind))
  return [
    ['why', ...kinds.map((kind) => REQUEST_USAGE_WORDS[kind])],
    ...reasons.map((reason) => [
      REQUEST_USAGE_WORDS[reason],
      ...rowOf(requestUsage.filter((one) => one.reason === reason)),
    ]),
    ['in all', ...rowOf(requestUsage)],
  ]
}

/** `17`, `17 (2 saved)`, `(2 saved)` */
const cell = (requestUsage: readonly RequestUsage[], kind: RequestKind): string => {
  const mine = requestUsage.filter((one) => one.kind === kind)
  const made = mine.reduce((sum, one) => sum + one.requests, 0)
  const saved = mine.reduce((sum, one) => sum + one.saved, 0)
  return (
    [made === 0 ? '' : humanCount(made), saved === 0 ? '' : `(${humanCount(saved)} saved)`]
      .filter((part) => part !== '')
      .join(' ') || '-'
  )
}
