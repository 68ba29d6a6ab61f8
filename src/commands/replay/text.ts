/** The output of `replay` for people. */

import { counted, humanCount } from '../../base/human.js'
import type { RunReport, SyncReport } from '../../model/run.js'
import { countedDrift } from '../../model/run-record.js'
import { driftLines, rejectionLines } from '../text/data-problem-lines.js'
import { publishSection } from '../text/publish-section.js'

/** The summary, with a newline at its end. */
export const renderReplay = (report: SyncReport): string =>
  [...report.accounts.map(accountSection), publishSection(report), lastLine(report)]
    .map((section) => `${section}\n`)
    .join('\n')

const accountSection = (run: RunReport): string => {
  const { merged, queued, outdated, waiting } = countsOf(run)
  const names = { rejections: run.rejections, rejectedRows: waiting }
  return [
    `account ${run.account}: ${run.status}`,
    `merged    ${counted(merged, 'survey row')}`,
    `queued    ${counted(queued, 'row')}, whose surveys the next sync reads again`,
    `outdated  ${counted(outdated, 'row')}, whose surveys were read again since then, or no longer exist`,
    `waiting   ${counted(waiting, 'row')}${waiting === 0 ? '' : ', kept in _sync.rejected_rows'}`,
    ...rejectionLines(names).map(below),
    ...(run.driftEvents === 0 ? [] : [`drift     ${countedDrift(run.driftEvents)}`]),
    ...driftLines(run).map(below),
  ].join('\n')
}

const below = (line: string): string => `            ${line}`

const lastLine = (report: SyncReport): string => {
  const counts = report.accounts.map(countsOf)
  const typed = counts.reduce((all, { merged, queued, outdated }) => all + merged + queued + outdated, 0)
  const waiting = counts.reduce((all, run) => all + run.waiting, 0)
  const rows = `${counted(typed, 'row')} replayed, ${waiting === 0 ? 'none is' : humanCount(waiting)} waiting.`
  if (report.status === 'complete') return `complete: ${rows}`
  const reasons = [...report.accounts.map(({ reason }) => reason), report.publishError]
  const distinct = new Set(reasons.flatMap((reason) => reason?.replace(/\.$/, '') ?? []))
  return `${report.status} (exit ${report.exitCode}): ${[...distinct].join('; ').replaceAll(/\s*\n\s*/g, ' ')}; ${rows}`
}

const countsOf = ({ replayed }: RunReport) => replayed ?? { merged: 0, queued: 0, outdated: 0, waiting: 0 }
