/** What `replay` does: opens the warehouse, decodes the rows of each account in turn, and publishes. Also what it prints. */
import { systemClock } from '../base/clock.js'
import { counted, humanCount } from '../base/human.js'
import { packageVersion } from '../base/version.js'
import { createProgressLog } from '../logging/progress.js'
import type { RunReport, SyncReport } from '../model/run.js'
import { countedDrift } from '../model/run-record.js'
import { requireWarehouse } from '../storage/open.js'
import { decodeAgain } from '../survey-api/resources.js'
import { replayAccount } from '../sync/replay.js'
import { accountWarehouse } from '../warehouse/account-warehouse.js'
import { accountsInQuarantine } from '../warehouse/history/replay.js'
import type { MonitoredRun } from './monitored-run.js'
import { driftLines, publishSection, rejectionLines } from './text/run-lines.js'
import { runAndPublish } from './warehouse-run.js'

/**
 * Publishes even if quarantine is empty: a killed replay may have committed rows that are not published yet.
 * Throws a `WarehouseError`, an error `no_warehouse` or a bug; every other failure is in the report.
 */
export const run = async ({ settings, runId, log, signal, watch }: MonitoredRun): Promise<SyncReport> => {
  await requireWarehouse(settings, signal, 'replay')
  const observer = createProgressLog({ log, clock: systemClock, usage: () => undefined })
  return runAndPublish(
    { settings, command: 'replay', runId, log, observer, signal, watch },
    async ({ database, storage }) => {
      const reports: RunReport[] = []
      for (const account of await database.exclusively(accountsInQuarantine))
        reports.push(
          await replayAccount({
            warehouse: accountWarehouse(database, account),
            decodeAgain,
            clock: systemClock,
            signal: storage.signal,
            rules: settings,
            runId,
            version: packageVersion(),
          }),
        )
      return reports
    },
  )
}

/** The summary, with a newline at its end. */
export const render = (report: SyncReport): string =>
  [...report.accounts.map(accountSection), publishSection(report), lastLine(report)]
    .filter((section) => section !== '')
    .map((section) => `${section}\n`)
    .join('\n')

const accountSection = (run: RunReport): string => {
  const { merged, queued, outdated, waiting } = countsOf(run)
  return [
    `account ${run.account}: ${run.status}`,
    `merged    ${counted(merged, 'survey row')}`,
    `queued    ${counted(queued, 'row')}, whose surveys the next sync reads again`,
    `outdated  ${counted(outdated, 'row')}, whose surveys were read again since then, or no longer exist`,
    `waiting   ${counted(waiting, 'row')}${waiting === 0 ? '' : ', kept in _sync.rejected_rows'}`,
    ...rejectionLines({ ...run, rejectedRows: waiting }).map(below),
    ...(run.driftEvents === 0 ? [] : [`drift     ${countedDrift(run.driftEvents)}`]),
    ...driftLines(run).map(below),
  ].join('\n')
}

const below = (line: string): string => `            ${line}`

const lastLine = (report: SyncReport): string => {
  let [typed, waiting] = [0, 0]
  for (const counts of report.accounts.map(countsOf)) {
    typed += counts.merged + counts.queued + counts.outdated
    waiting += counts.waiting
  }
  const rows = `${counted(typed, 'row')} replayed, ${waiting === 0 ? 'none is' : humanCount(waiting)} waiting.`
  if (report.status === 'complete') return `complete: ${rows}`
  const { accounts, publishError } = report
  const reasons = accounts.map(({ reason }) => reason)
  // The reason of an account that was not published contains this error.
  if (publishError !== null && !reasons.some((reason) => reason?.includes(publishError)))
    reasons.push(publishError)
  const distinct = new Set(reasons.flatMap((reason) => reason?.replace(/\.$/, '') ?? []))
  return `${report.status} (exit ${report.exitCode}): ${[...distinct].join('; ').replaceAll(/\s*\n\s*/g, ' ')}; ${rows}`
}

const countsOf = ({ replayed }: RunReport) => replayed ?? { merged: 0, queued: 0, outdated: 0, waiting: 0 }
