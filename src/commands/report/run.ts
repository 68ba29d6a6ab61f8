/** The wiring of `report`: finds the published state, reads it and writes the page. */
import { lstat, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { throwIfAborted } from '../../base/clock.js'
import { isSystemError, messageOf, WarehouseError } from '../../base/errors.js'
import { makeDirectory } from '../../base/make-directory.js'
import { readReport } from '../../publish/report/read.js'
import { REPORT_START, renderReport } from '../../publish/report/render.js'
import { writeReport } from '../../publish/report/write.js'
import type { Settings } from '../../settings/settings.js'
import { readPublished } from '../../warehouse/status.js'
import { usageError } from '../usage.js'
import { findState } from '../wiring/published.js'
import { requirePublished } from '../wiring/warehouse-status.js'

export interface ReportRequest {
  readonly settings: Settings
  /** Absolute path. */
  readonly out: string
  readonly signal: AbortSignal
}

export interface WrittenReport {
  /** The published state that it shows. */
  readonly source: string
  readonly bytes: number
  /** Surveys in the field. */
  readonly inField: number
  /** Surveys with a section of their own. */
  readonly sections: number
}

/** Throws `nothing_published`, `usage` for a foreign file, `report_failed`, or the error of a state that cannot be read. */
export const reportPublished = async ({ settings, out, signal }: ReportRequest): Promise<WrittenReport> => {
  await requireReplaceable(out).catch(failed(out))
  const state = await requirePublished(settings, await findState(settings, signal))
  const rows = await readPublished(state, signal, (database) => database.transaction(readReport))
  const report = renderReport(rows, settings.report)
  throwIfAborted(signal)
  await makeDirectory(dirname(out)).catch(failed(out))
  await writeReport(out, report.html).catch(failed(out))
  return {
    source: state.path,
    bytes: Buffer.byteLength(report.html),
    inField: rows.inField.length,
    sections: report.sections,
  }
}

const failed =
  (out: string) =>
  (cause: unknown): never => {
    if (!isSystemError(cause)) throw cause
    throw new WarehouseError(
      'report_failed',
      `cannot write ${out}: ${messageOf(cause)}. Check the permissions and the free space`,
      { cause },
    )
  }

/** A mistyped path must not cost a file. */
const requireReplaceable = async (out: string): Promise<void> => {
  const found = await lstat(out).catch(() => null)
  if (found === null || (found.isFile() && found.size === 0)) return
  if (found.isFile() && (await beginningOf(out)) === REPORT_START) return
  throw usageError(`--out ${out} exists and is no report. Name another file`, 'report')
}

const beginningOf = async (file: string): Promise<string> => {
  await using handle = await open(file, 'r')
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(Buffer.byteLength(REPORT_START)))
  return buffer.subarray(0, bytesRead).toString()
}
