/** What `report` does: finds the published state, reads it, writes the page, and prints what was written. */
import { lstat, open, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { asWarehouseError } from '../base/errors.js'
import { counted, humanBytes } from '../base/human.js'
import { makeDirectory } from '../base/make-directory.js'
import { throwIfAborted } from '../base/signals.js'
import { replaceContent } from '../publish/replace-file.js'
import { readReport } from '../publish/report/read.js'
import { REPORT_START, renderReport } from '../publish/report/render.js'
import type { Settings } from '../settings/settings.js'
import { findState, requirePublished } from '../storage/open.js'
import { readPublished } from '../warehouse/status.js'
import type { CliContext } from './context.js'
import { usageError } from './flags.js'
import { jsonOf } from './text/json.js'

/**
 * `out` is an absolute path. Throws `nothing_published`, `usage` for a foreign file, `report_failed`, or the error of a state that
 * cannot be read.
 */
export const report = async (
  { signal, print }: CliContext,
  settings: Settings,
  out: string,
): Promise<void> => {
  await requireReplaceable(out).catch(failed(out))
  const state = await requirePublished(settings, await findState(settings, signal))
  const rows = await readPublished(state, signal, (database) => database.transaction(readReport))
  const { html, sections } = renderReport(rows, settings.report)
  throwIfAborted(signal)
  await makeDirectory(dirname(out)).catch(failed(out))
  await replaceContent(await realpath(out).catch(() => out), html).catch(failed(out))
  const inField = rows.inField.length
  const bytes = Buffer.byteLength(html)
  await print(
    settings.json
      ? `${jsonOf({ out, source: state.path, bytes, inField, sections })}\n`
      : `${counted(inField, 'survey')} in the field, ${counted(sections, 'survey')} with a section, ${humanBytes(bytes)}\n\nwritten to ${out}: open it in a browser\n`,
  )
}

const failed = (out: string) =>
  asWarehouseError(
    'report_failed',
    (reason) => `cannot write ${out}: ${reason}. Check the permissions and the free space`,
  )

/** A mistyped path must not cost a file. */
const requireReplaceable = async (out: string): Promise<void> => {
  const stats = await stat(out)
    .catch(() => lstat(out))
    .catch(() => null)
  if (stats === null || (stats.isFile() && stats.size === 0)) return
  if (stats.isFile() && (await beginningOf(out)) === REPORT_START) return
  throw usageError(`--out ${out} exists and is no report. Name another file`, 'report')
}

const beginningOf = async (file: string): Promise<string> => {
  await using handle = await open(file, 'r')
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(Buffer.byteLength(REPORT_START)))
  return buffer.subarray(0, bytesRead).toString()
}
