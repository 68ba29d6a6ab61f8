/**
 * Publishes the report, after the states. It is only a page about them, so a report that cannot be written is a warning: the previous one
 * stays, and the run ends as it would without a report.
 */
import { join } from 'node:path'
import { messageOf } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { REPORT_FILE } from '../../model/publish-formats.js'
import type { Publisher } from '../../model/warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import type { ReportSettings } from './formats.js'

export interface ReportPublishing {
  readonly database: Database
  readonly log: Log
  readonly report: ReportSettings
}

export const createReportPublisher = (
  publishing: ReportPublishing & { readonly directory: string },
): Publisher => ({
  format: 'report',
  publish: async (signal) => {
    const path = join(publishing.directory, REPORT_FILE)
    const bytes = await orWarning(publishing, path, signal, async (html) => {
      const { writeReport } = await import('./write.js')
      await writeReport(path, html)
    })
    return bytes === null ? [] : [{ format: 'report', path, bytes }]
  },
})

/** Makes the report and passes it to `write`. Returns its size; null after a warning. `place` is for the warning. */
export const orWarning = async (
  { database, log, report }: ReportPublishing,
  place: string,
  signal: AbortSignal,
  write: (html: string) => Promise<void>,
): Promise<number | null> => {
  try {
    signal.throwIfAborted()
    const [{ readReport }, { renderReport }] = await Promise.all([import('./read.js'), import('./render.js')])
    const rows = await database.interruptibly(signal, () => database.transaction(readReport))
    const { html } = renderReport(rows, report)
    signal.throwIfAborted()
    await write(html)
    return Buffer.byteLength(html)
  } catch (error) {
    log.warn(
      { report: place, problem: messageOf(error) },
      'the report could not be written; everything else is published, and the next run writes it again',
    )
    return null
  }
}
