/** Checks the files of a published Parquet version: each is as the manifest says, and readers find no file beside them. */
import { readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { throwIfAborted } from '../../base/clock.js'
import { hasCode } from '../../base/errors.js'
import { checksum, type Manifest, type PublishedFile } from '../../publish/parquet/manifest.js'
import { PUBLISH_AGAIN } from './check-tables.js'
import type { Problem } from './problem.js'

export const filesOf = ({ tables }: Pick<Manifest, 'tables'>): readonly PublishedFile[] =>
  tables.flatMap(({ files }) => files)

/** `directory` is the version, `state` its path for people. Throws the system's error if a file cannot be read. */
export const checkParquetFiles = async (
  {
    directory,
    manifest,
    state,
  }: { readonly directory: string; readonly manifest: Manifest; readonly state: string },
  signal: AbortSignal,
): Promise<readonly Problem[]> => {
  const damages: { readonly path: string; readonly damage: Damage }[] = []
  for (const file of filesOf(manifest)) {
    throwIfAborted(signal)
    const damage = await damageOf(directory, file)
    if (damage !== null) damages.push({ path: file.path, damage })
  }
  const known = new Set(filesOf(manifest).map(({ path }) => path))
  const unknown = (await filesBelow(directory)).filter((path) => !known.has(path))
  return [
    ...DAMAGES.flatMap(({ rule, says }) =>
      problem(
        state,
        { rule, says },
        damages.filter(({ damage }) => damage === rule).map(({ path }) => path),
      ),
    ),
    ...problem(
      state,
      {
        rule: 'files_are_in_manifest',
        says: 'Parquet files that the manifest does not name; readers read them too',
      },
      unknown,
      'Remove these files',
    ),
  ]
}

type Damage = 'files_exist' | 'files_have_their_size' | 'files_have_their_checksum'
const DAMAGES: readonly { readonly rule: Damage; readonly says: string }[] = [
  { rule: 'files_exist', says: 'files of the manifest are missing' },
  { rule: 'files_have_their_size', says: 'files have another size than the manifest says' },
  { rule: 'files_have_their_checksum', says: 'files have another checksum than the manifest says' },
]

/** One problem for all these files; none without files. */
export const problem = (
  state: string,
  { rule, says }: Pick<Problem, 'rule' | 'says'>,
  paths: readonly string[],
  advice = PUBLISH_AGAIN,
): readonly Problem[] => {
  const [first] = paths
  return first === undefined
    ? []
    : [{ rule, state, where: 'files', says, count: paths.length, example: first, advice }]
}

const damageOf = async (
  directory: string,
  { path, bytes, sha256 }: PublishedFile,
): Promise<Damage | null> => {
  const file = join(directory, path)
  try {
    if ((await stat(file)).size !== bytes) return 'files_have_their_size'
    return (await checksum(file)) === sha256 ? null : 'files_have_their_checksum'
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return 'files_exist'
    throw error
  }
}

/** The Parquet files below a directory, relative to it. Readers use patterns such as `surveys/**\/*.parquet`. */
const filesBelow = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.parquet'))
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .toSorted()
