/**
 * The manifest of a version: every file with its rows, size, checksum, and the digest of its rows. By the manifest, the next publish knows
 * which files need not be written, and a rebuild of a lost work database checks the files.
 */
import { createHash } from 'node:crypto'
import { lstat, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { hasCode } from '../../base/errors.js'
import { parseJson } from '../../base/parse.js'
import { readOwnText } from '../../base/text-file.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import { refuseNewer } from '../../warehouse/lifecycle/version.js'

const columnSchema = z.object({
  name: z.string(),
  type: z.enum(['BIGINT', 'VARCHAR', 'DOUBLE', 'BOOLEAN', 'TIMESTAMPTZ', 'DATE', 'JSON']),
  nullable: z.boolean(),
  comment: z.string(),
})

/**
 * A path below the directory of the version, or a key below the prefix of a bucket. It is checked, because another program may have written
 * the document.
 */
export const pathBelow = z
  .string()
  .regex(/^(?!\.{1,2}(?:\/|$))[^/\\:\0]+(?:\/(?!\.{1,2}(?:\/|$))[^/\\:\0]+)*$/)

const fileSchema = z.object({
  /** The path of the file, relative to the directory of the version. */
  path: pathBelow,
  account: z.string().nullable(),
  created_month: z.string().nullable(),
  rows: z.number(),
  bytes: z.number(),
  sha256: z.string(),
  digest: z.string(),
  /** The version that wrote the file. Later versions link to it. */
  written_by: z.number(),
})
export type PublishedFile = z.output<typeof fileSchema>

const tableSchema = z.object({
  schema: z.enum(['main', '_sync']),
  name: z.string(),
  comment: z.string(),
  columns: z.array(columnSchema),
  /** Whether it is a view. The rows of a view follow from the tables, so a rebuild never reads them. Absent for a table. */
  is_view: z.boolean().optional(),
  layout: z.string(),
  rows: z.number(),
  bytes: z.number(),
  files: z.array(fileSchema),
})
export type ManifestTable = z.output<typeof tableSchema>

const FORMAT = 1

export const manifestSchema = z.object({
  format: z.literal(FORMAT),
  version: z.number(),
  published_at: z.string(),
  /** The program version that published. */
  program: z.string(),
  schema_version: z.number(),
  /** The last recorded run; null without one. */
  run_id: z.string().nullable(),
  /** The number of recorded runs. It only grows, so the state with more runs is the newer one. */
  runs: z.number(),
  rows: z.number(),
  bytes: z.number(),
  tables: z.array(tableSchema),
})
export type Manifest = z.output<typeof manifestSchema>

/** The tables without the views, which hold the whole state. */
export const storedTables = ({ tables }: Pick<Manifest, 'tables'>): readonly ManifestTable[] =>
  tables.filter(({ is_view: isView = false }) => !isView)

export const tableIn = (
  { tables }: { readonly tables: readonly ManifestTable[] },
  { declaration: { schema, name } }: { readonly declaration: Pick<ManifestTable, 'schema' | 'name'> },
): ManifestTable | undefined => tables.find((table) => table.schema === schema && table.name === name)

const FILE = 'manifest.json'

export const manifestFile = (directory: string): string => join(directory, FILE)

/** The fields by which a version knows a manifest that has another form than its own. */
const writtenSchema = z.object({ format: z.number(), schema_version: z.number().catch(0) })

/** Null for an invalid manifest. Throws `warehouse_is_newer`, which names `place`: the manifest of a newer version is not damaged. */
export const parseManifest = <Output>(
  schema: z.ZodType<Output>,
  place: string,
  text: string | Uint8Array,
): Output | null => {
  const written = parseJson(writtenSchema, text)
  if (written === null) return null
  refuseNewer(place, written.schema_version)
  refuseNewer(place, written.format, FORMAT, 'format')
  return parseJson(schema, text)
}

/**
 * Null if the manifest is missing or invalid, and therefore nothing is known about the files beside it. Throws the system's error if it
 * cannot be read, and `warehouse_is_newer`.
 */
export const readManifest = async (directory: string): Promise<Manifest | null> => {
  const file = manifestFile(directory)
  const text = await readOwnText(file).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
    throw error
  })
  return text === null ? null : parseManifest(manifestSchema, file, text)
}

export const requireManifest = async (directory: string): Promise<Manifest> => {
  const manifest = await readManifest(directory)
  if (manifest === null) throw new WarehouseUnusableError(`${manifestFile(directory)} cannot be read`)
  return manifest
}

export const writeManifest = (directory: string, manifest: Manifest): Promise<void> =>
  writeFile(manifestFile(directory), `${JSON.stringify(manifest, null, 1)}\n`)

export const checksum = async (file: string): Promise<string> => {
  const hash = createHash('sha256')
  await using handle = await open(file, 'r')
  await pipeline(handle.createReadStream({ autoClose: false, highWaterMark: READ_AT_ONCE_BYTES }), hash)
  return hash.digest('hex')
}

const READ_AT_ONCE_BYTES = 1_048_576

/** Whether a file has the size and checksum of its manifest entry. Throws the system's error if the file cannot be read. */
export const isIntact = async (
  directory: string,
  { path, bytes, sha256 }: Pick<PublishedFile, 'path' | 'bytes' | 'sha256'>,
): Promise<boolean> => {
  try {
    const file = join(directory, path)
    const stats = await lstat(file)
    // Reading a pipe would never end, and a link may lead elsewhere.
    return stats.isFile() && stats.size === bytes && (await checksum(file)) === sha256
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}
