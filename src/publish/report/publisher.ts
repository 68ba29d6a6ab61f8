/** Publishes the report, after the states that it shows. A report that cannot be written fails the run as a state would; the states are published. */
import { writeFile } from 'node:fs/promises'
import { throwIfAborted } from '../../base/signals.js'
import type { Publisher } from '../../model/warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import type { FileSystemLacks } from '../file-system-lacks.js'
import { publishError } from '../publish-error.js'
import { replaceFile, sweepTemporaries, syncToDisk, temporaryBeside } from '../replace-file.js'
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

/** Readers see the previous report or the new one. Throws the errors of the file system. Then the previous report is unchanged, unless it is an `UnsyncedError`, and nothing is left behind. */
export const writeReport = async (file: string, html: string, lacks?: FileSystemLacks): Promise<void> => {
  const temporary = temporaryBeside(file)
  try {
    await writeFile(temporary, html)
    await syncToDisk(temporary)
    await replaceFile(temporary, file, lacks)
  } catch (error) {
    await sweepTemporaries(file).catch(() => undefined)
    throw error
  }
}
