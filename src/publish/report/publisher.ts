/**
 * Publishes the report after the states that it shows. A report that cannot be written fails the run, as a failed state does; the states
 * remain published.
 */
import { throwIfAborted } from '../../base/signals.js'
import type { Publisher } from '../../model/warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import { publishError } from '../publish-error.js'
import type { ReportSettings } from './formats.js'

interface ReportPublishing {
  readonly database: Database
  readonly report: ReportSettings
  /** For people: a path, or an address in a bucket. */
  readonly path: string
  /** Replaces the previous report in one step. */
  readonly write: (html: string, signal: AbortSignal) => Promise<void>
}

/** Throws a `WarehouseError` if it cannot publish. The previous report is then unchanged. */
export const createReportPublisher = ({ database, report, path, write }: ReportPublishing): Publisher => ({
  format: 'report',
  publish: async (signal) => {
    try {
      throwIfAborted(signal)
      const { readReport } = await import('./read.js')
      const { renderReport } = await import('./render.js')
      const rows = await database.interruptibly(signal, () => database.transaction(readReport))
      const { html } = renderReport(rows, report)
      throwIfAborted(signal)
      await write(html, signal)
      return [{ format: 'report', path, bytes: Buffer.byteLength(html) }]
    } catch (error) {
      throw publishError(error, path, 'The previous report')
    }
  },
})
