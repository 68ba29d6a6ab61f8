/**
 * The directory of an export. We write it beside its path under another name, and then rename it. So readers see the previous export or the
 * new one, or none for an instant, but never a part of an export. Only an export is replaced. See
 * docs/decisions/export-and-sql.md#0049-an-export-replaces-its-directory-as-a-whole.
 */
import { randomUUID } from 'node:crypto'
import { lstat, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { ExpectedError, UnsyncedError } from '../../base/errors.js'
import { isRunning } from '../../base/is-running.js'
import { makeDirectory } from '../../base/make-directory.js'
import { parseJson } from '../../base/parse.js'
import { readOwnText } from '../../base/text-file.js'
import {
  firstModeFor,
  ifMissing,
  keepMode,
  renameDurably,
  syncDirectory,
  syncToDisk,
} from '../../publish/replace-file.js'

const FILE = 'export.json'

const manifestSchema = z.object({
  /** Distinguishes the manifest of an export from other files named `export.json`. */
  fieldwork_sync_export: z.literal(1),
  program: z.string(),
  exported_at: z.string(),
  /** Path of the exported state; `run_id` is its last run. */
  source: z.string(),
  run_id: z.string().nullable(),
  format: z.string(),
  /** Whether CSV files are for spreadsheet programs. */
  bom: z.boolean().default(false),
  rows: z.number(),
  tables: z.array(
    z.object({
      table: z.string(),
      file: z.string(),
      rows: z.number(),
      bytes: z.number(),
      sha256: z.string(),
      /** Texts that were cut, because a cell of a spreadsheet could not hold them. */
      cut_texts: z.number().default(0),
    }),
  ),
})
export type ExportManifest = z.output<typeof manifestSchema>

/** Throws `export_request` if the path holds anything but an export. */
const requireReplaceable = async (out: string): Promise<void> => {
  const stats = await lstat(out).catch(() => null)
  if (stats === null) return
  if (!stats.isDirectory())
    throw new ExpectedError('export_request', `--out ${out} is not a directory. Name another one`)
  const names = await readdir(out)
  const manifest = names.includes(FILE) ? await readManifest(out) : null
  const exported = manifest === null ? [] : [FILE, ...manifest.tables.map(({ file }) => file)]
  const [foreign] = names.filter((name) => !exported.includes(name)).toSorted()
  if (foreign !== undefined)
    throw new ExpectedError(
      'export_request',
      `--out ${out} holds ${foreign}, which is not part of an export. Name an empty or a new directory`,
    )
}

const readManifest = async (out: string): Promise<ExportManifest | null> => {
  const text = await readOwnText(join(out, FILE)).catch(() => null)
  return text === null ? null : parseJson(manifestSchema, text)
}

/** Runs `write` in an empty directory and replaces `out` by that directory. If `write` fails, its files are removed. */
export const replaceDirectory = async (
  out: string,
  write: (directory: string) => Promise<ExportManifest>,
): Promise<ExportManifest> => {
  await requireReplaceable(out)
  await makeDirectory(dirname(out))
  await removeLeftovers(out)
  const unfinished = beside(out, 'exporting')
  try {
    await mkdir(unfinished, await firstModeFor(out))
    const manifest = await write(unfinished)
    await writeFile(join(unfinished, FILE), `${JSON.stringify(manifest, null, 1)}\n`)
    for (const path of new Set([...manifest.tables.map(({ file }) => file), FILE]))
      await syncToDisk(join(unfinished, path))
    for (const name of await readdir(unfinished)) await keepMode(join(unfinished, name), join(out, name))
    await keepMode(unfinished, out)
    await syncDirectory(unfinished)
    await swap(unfinished, out)
    return manifest
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

const swap = async (unfinished: string, out: string): Promise<void> => {
  // Files may have appeared during the export.
  await requireReplaceable(out)
  const previous = beside(out, 'replaced')
  const hasPrevious = (await rename(out, previous).then(() => true, ifMissing)) !== null
  try {
    await renameDurably(unfinished, out)
  } catch (error) {
    // If the previous export cannot be renamed back, we still report the first failure.
    if (hasPrevious && !(error instanceof UnsyncedError)) await rename(previous, out).catch(() => undefined)
    throw error
  }
  // The export is complete. The next export removes what cannot be removed now.
  if (hasPrevious) await rm(previous, { recursive: true, force: true }).catch(() => undefined)
}

const beside = (out: string, suffix: 'exporting' | 'replaced'): string =>
  join(dirname(out), `.${basename(out)}.${process.pid}.${randomUUID()}.${suffix}`)

/** Removes the directories of killed exports, but not of running exports, nor directories of others with a similar name. */
const removeLeftovers = async (out: string): Promise<void> => {
  for (const name of await readdir(dirname(out))) {
    const rest = name.startsWith(`.${basename(out)}.`) ? name.slice(basename(out).length + 2) : ''
    const [, pid] = /^(\d+)\.[\da-f-]{36}\.(?:exporting|replaced)$/.exec(rest) ?? []
    if (pid === undefined || (Number(pid) !== process.pid && isRunning(Number(pid)))) continue
    const leftover = join(dirname(out), name)
    const owner = (await lstat(leftover).catch(ifMissing))?.uid
    if (process.geteuid === undefined || owner === process.geteuid())
      await rm(leftover, { recursive: true, force: true })
  }
}
