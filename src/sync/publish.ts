/**
 * The end of a run: publishes what was committed, whatever came of it. What a failed run committed, and the record that
 * it failed, are for readers too.
 */
import { EXIT_CODES, messageOf, WarehouseError } from '../base/errors.js'
import type { Log } from '../base/log.js'
import type { PublishReport, RunObserver, RunReport, SyncReport } from '../model/run.js'
import type { Publisher } from '../model/warehouse.js'
import { worstOf } from './outcome.js'

export interface PublishAll {
  readonly publishers: readonly Publisher[]
  /** How the runs of this command's accounts ended. */
  readonly reports: readonly RunReport[]
  /** Records anew how a run ended: a run that was not published has failed. */
  readonly finishRun: (report: RunReport) => Promise<void>
  readonly observer: RunObserver
  readonly log: Log
}

/** Throws only a bug; that something could not be published is in the report. */
export const publishAll = async (options: PublishAll): Promise<SyncReport> => {
  const { publishers, reports, observer } = options
  const published: PublishReport[] = []
  try {
    for (const publisher of publishers) {
      observer.publishing({ format: publisher.format })
      published.push(await publisher.publish())
    }
    return { ...worstOf(reports), accounts: reports, published, publishError: null }
  } catch (error) {
    if (!(error instanceof WarehouseError)) throw error
    const accounts = await recordUnpublished(options, error)
    return { ...worstOf(accounts), accounts, published, publishError: error.message }
  }
}

const recordUnpublished = async (
  { reports, finishRun, log }: PublishAll,
  error: WarehouseError,
): Promise<readonly RunReport[]> => {
  const unpublished = reports.map((report): RunReport => {
    const reasons = [`not published: ${error.message}`, ...(report.reason === null ? [] : [report.reason])]
    return { ...report, exitCode: EXIT_CODES.warehouse, status: 'failed', reason: reasons.join('; ') }
  })
  for (const report of unpublished) {
    await finishRun(report).catch((second: unknown) => {
      log.error({ problem: messageOf(second) }, 'that the run was not published could not be recorded')
    })
  }
  return unpublished
}
