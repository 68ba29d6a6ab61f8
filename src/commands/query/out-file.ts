/** The file that `--out` names. It is replaced when all rows of the query are written. */
import { open, realpath, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { asWarehouseError, WarehouseError } from '../../base/errors.js'
import { counted, humanBytes } from '../../base/human.js'
import { makeDirectory } from '../../base/make-directory.js'
import {
  firstModeFor,
  keepMode,
  renameDurably,
  syncToDisk,
  temporaryBeside,
} from '../../publish/replace-file.js'
import { duckdbCause, firstLine, isFileFailure } from '../../warehouse/connection/duckdb-error.js'
import { usageError } from '../flags.js'
import type { Write } from './lines.js'

/** Runs a query into a file that then replaces `out`. Returns what was written, in words. */
export const writeFile = async (
  out: string,
  leftovers: string[],
  run: (file: string, write: Write) => Promise<number>,
): Promise<string> => {
  const stats = await stat(out).catch(() => null)
  if (stats !== null && !stats.isFile())
    throw usageError(`--out ${out} is not a file. Name another one`, 'query')
  // A link stays, and the file that it names is replaced.
  const target = await realpath(out).catch(() => out)
  const temporary = temporaryBeside(target)
  leftovers.push(temporary)
  try {
    await makeDirectory(dirname(target))
    const mode = await firstModeFor(target)
    const rows = await into(temporary, mode, (write) => run(temporary, write))
    await syncToDisk(temporary)
    const { size } = await stat(temporary)
    await keepMode(temporary, target)
    await renameDurably(temporary, target)
    return `${counted(rows, 'row')} written to ${out} (${humanBytes(size)})\n`
  } catch (error) {
    // DuckDB writes a Parquet file itself, and its error names the temporary file.
    const cause = duckdbCause(error)
    if (isFileFailure(cause) && firstLine(cause).includes(temporary))
      throw new WarehouseError('query_failed', `cannot write ${out}: ${firstLine(cause)}`, { cause })
    return unwritable(out)(error)
  } finally {
    // Also if the path of the directory is not a directory.
    await rm(temporary, { force: true }).catch(() => undefined)
  }
}

/** For `catch`: throws `query_failed` if the system refused a write. */
export const unwritable = (out: string) =>
  asWarehouseError(
    'query_failed',
    (reason) => `cannot write ${out}: ${reason}. Check the permissions and the free space`,
  )

const into = async (
  file: string,
  mode: number | undefined,
  run: (write: Write) => Promise<number>,
): Promise<number> => {
  await using handle = await open(file, 'wx', mode)
  return await run(async (text) => {
    await handle.writeFile(text)
    return true
  })
}
