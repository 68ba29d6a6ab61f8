/**
 * The local checks of `verify`: every rule that a published state must satisfy by itself, without a request to the API or a lock. Damage is
 * reported as a problem. A state that cannot be reached, or was written by another version, is an error.
 */
import { readlink, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../../base/errors.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import {
  isStateFormat,
  type PublishFormat,
  publishedPath,
  STATE_FORMATS,
  type StateFormat,
} from '../../model/publish-formats.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { manifestFile, readManifest } from '../../publish/parquet/manifest.js'
import { openParquet } from '../../publish/parquet/reader.js'
import { readPointer } from '../../storage/bucket/pointer.js'
import { downloadVerified, readManifest as readStoredManifest } from '../../storage/bucket/restore.js'
import { listData, presentFiles } from '../../storage/bucket/upload.js'
import { unreadable } from '../../warehouse/connection/duckdb-error.js'
import { readLastRun } from '../../warehouse/history/runs.js'
import { checkFileApart, reportingDamage } from './check-file.js'
import { checkParquetFiles, filesOf, type ParquetVersion } from './check-parquet.js'
import { checkTables, openParquetVersion } from './check-tables.js'
import { type Checked, damaged, type LocalProof, type Problem, problemOfFiles, together } from './proof.js'

/** Checks every published format of a warehouse directory, and whether the formats of the settings are published. Throws a `WarehouseError`. */
export const verifyDirectory = async (
  directory: string,
  formats: readonly PublishFormat[],
  signal: AbortSignal,
): Promise<LocalProof> => {
  const file = publishedPath(directory, 'duckdb')
  const present = await checkPresence(directory, formats.filter(isStateFormat))
  const { version: parquet, ...found } = await findParquet(publishedPath(directory, 'parquet'), signal)
  const proof = together(present, found)
  if ((await stat(file).catch(ifMissing(file))) !== null) {
    // The question does not contain the manifest, because it is an argument of a process, for which the manifest of a large warehouse is
    // too long.
    const beside = parquet === null ? null : { directory: parquet.directory, state: parquet.state }
    return together(await checkFileApart({ file, state: file, parquet: beside }, signal), proof)
  }
  if (parquet === null) return together(proof)
  const { state } = parquet
  const checked = await reportingDamage({ state, signal }, async () => {
    await using database = await openParquetVersion(parquet.directory)
    return together(await checkTables({ state, database, signal }))
  })
  return together(proof, { ...checked, states: [] })
}

/** Without the settings of the warehouse, the default names a format that may never have been published: only a note says so. */
const checkPresence = async (directory: string, named: readonly StateFormat[]): Promise<LocalProof> => {
  const absent = new Set<StateFormat>()
  const dangling: Checked[] = []
  for (const format of STATE_FORMATS) {
    const path = publishedPath(directory, format)
    if ((await realpath(path).catch(ifMissing(path))) !== null) continue
    const target = await readlink(path).catch(() => null)
    if (target === null) absent.add(format)
    else dangling.push({ checks: 1, states: [path], problems: problemOfFiles(path, DANGLING, [target]) })
  }
  const missing = named.filter((format) => absent.has(format))
  const isKnown = missing.length < named.length
  const lacks = missing.map((format): Checked => {
    const path = publishedPath(directory, format)
    return isKnown
      ? { checks: 1, problems: problemOfFiles(path, NOT_PUBLISHED, [format], PUBLISH_IT) }
      : { notes: [`there is no ${path}, although publish.formats names ${format}. ${PUBLISH_IT}`] }
  })
  return together(...dangling, ...lacks)
}

const DANGLING = { rule: 'state_can_be_read', says: 'it links to a place that does not exist' }
const NOT_PUBLISHED = { rule: 'format_is_published', says: 'publish.formats names it, but it is missing' }
const PUBLISH_IT = 'Run fieldwork-sync sync, which publishes it'

interface FoundParquet extends Checked {
  /** Null if no Parquet is published, or its files are damaged. */
  readonly version: ParquetVersion | null
}

/** The link is followed once, so that a publish during the check does not matter. */
const findParquet = async (state: string, signal: AbortSignal): Promise<FoundParquet> => {
  const directory = await realpath(state).catch(ifMissing(state))
  if (directory === null) return { version: null }
  const manifest = await readManifest(directory).catch((error: unknown) => {
    throw unreadable(manifestFile(directory), error)
  })
  const states = [state]
  if (manifest === null)
    return { checks: 1, states, problems: damaged(state, manifestFile(directory)), version: null }
  const version = { directory, manifest, state }
  const problems = await checkParquetFiles(version, signal).catch((error: unknown) => {
    throw unreadable(state, error)
  })
  const checks = filesOf(manifest).length + 1
  if (problems.some(({ rule }) => rule !== 'files_are_in_manifest'))
    return { checks, states, problems, version: null }
  const named = await checkRunOf(version)
  return { checks: checks + 1, states, problems: [...problems, ...named], version }
}

/** The problem of a manifest whose last run differs from the last run in its files. */
const checkRunOf = async ({ directory, manifest, state }: ParquetVersion): Promise<readonly Problem[]> => {
  await using database = await openParquet(directory)
  const { run_id } = await database.exclusively(readLastRun)
  const says = {
    rule: 'manifest_names_last_run',
    says: 'the manifest names another run than the last one in its files',
  }
  return problemOfFiles(state, says, run_id === manifest.run_id ? [] : [manifest.run_id ?? 'none'])
}

const ifMissing =
  (path: string) =>
  (error: unknown): null => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
    throw unreadable(path, error)
  }

/** The next run writes damaged objects anew, or restores an older version. */
const NEXT_RUN =
  "Run fieldwork-sync sync, which writes the objects that are missing, or restore the object from the bucket's own versions"

/**
 * Checks the current version in a bucket: its documents, its database, and that every Parquet file exists with its size. Throws an
 * `ObjectStoreError` or a `WarehouseError`.
 */
export const verifyBucket = async (store: ObjectStore, signal: AbortSignal): Promise<LocalProof> => {
  const pointer = await readPointer(store, signal)
  if (pointer === null || pointer.manifest === null) return together()
  const state = `${store.address}/${pointer.manifest}`
  const objects = (paths: readonly string[]) =>
    problemOfFiles(
      state,
      { rule: 'objects_are_intact', says: 'objects of the version are missing or damaged' },
      paths,
      NEXT_RUN,
    )
  const manifest = await readStoredManifest(store, pointer.manifest, signal)
  if (typeof manifest === 'string')
    return together({ checks: 1, states: [state], problems: objects([manifest]) })
  const { missing } = presentFiles(manifest, await listData(store, signal))
  const files = filesOf(manifest).length
  const proof = { checks: files + 2, states: [state], problems: objects(missing) }
  await using directory = await makeTemporaryDirectory('verify')
  const file = join(directory.path, 'published.duckdb')
  const damage = await downloadVerified(store, manifest.database, file, signal)
  if (damage !== null) return together(proof, { problems: objects([damage]) })
  const question = { file, state: `${store.address}/${manifest.database.key}`, parquet: null }
  return together(proof, await checkFileApart(question, signal))
}
