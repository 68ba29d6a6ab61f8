/** What `status --requests` prints: the requests of the last run of each account, by reason and kind. */
import { sum } from 'd3-array'
import { counted, humanCount } from '../../base/human.js'
import { formatInstant } from '../../model/instant.js'
import { REQUEST_KINDS, REQUEST_REASONS, type RequestUsage } from '../../model/request-usage.js'
import type { Settings } from '../../settings/settings.js'
import { readLastRequestUsage } from '../../storage/open.js'
import type { RunRequestUsage } from '../../warehouse/history/runs.js'
import type { CliContext } from '../context.js'
import { jsonOf } from '../text/json.js'
import { REQUEST_USAGE_WORDS } from '../text/run-lines.js'
import { textTable } from '../text/text-table.js'

export const showRequests = async ({ signal, print }: CliContext, settings: Settings): Promise<void> => {
  const runs = await readLastRequestUsage(settings, signal)
  await print(settings.json ? `${jsonOf({ runs })}\n` : `${renderRequestUsage(runs)}\n`)
}

const renderRequestUsage = (runs: readonly RunRequestUsage[]): string =>
  runs
    .map(({ account, started_at, requests, requests_estimated, requestUsage }) => {
      const saved = sum(requestUsage, (usage) => usage.saved)
      const planned = requests_estimated === null ? '' : `, ${humanCount(requests_estimated)} planned`
      return `requests of ${account}, run of ${formatInstant(started_at)}
  ${counted(requests ?? 0, 'request')}${planned}; ${humanCount(saved)} saved
${textTable(requestTable(requestUsage), { indent: '  ' })}`
    })
    .join('\n\n') || 'no run has recorded its requests yet'

const requestTable = (usage: readonly RequestUsage[]): readonly (readonly string[])[] => {
  const kinds = REQUEST_KINDS.filter((kind) => usage.some((row) => row.kind === kind))
  const rowOf = (name: string, mine: readonly RequestUsage[]) => [
    name,
    ...kinds.map((kind) => requestCell(mine.filter((row) => row.kind === kind))),
  ]
  return [
    ['why', ...kinds.map((kind) => REQUEST_USAGE_WORDS[kind])],
    ...REQUEST_REASONS.flatMap((reason) => {
      const mine = usage.filter((row) => row.reason === reason)
      return mine.length === 0 ? [] : [rowOf(REQUEST_USAGE_WORDS[reason], mine)]
    }),
    rowOf('in all', usage),
  ]
}

/** `17`, `17 (2 saved)`, `(2 saved)` */
const requestCell = (usage: readonly RequestUsage[]): string => {
  const [made, saved] = [sum(usage, ({ requests }) => requests), sum(usage, ({ saved }) => saved)]
  const parts = [made === 0 ? '' : humanCount(made), saved === 0 ? '' : `(${humanCount(saved)} saved)`]
  return parts.join(' ').trim() || '-'
}
