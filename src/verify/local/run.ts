/**
 * The local half of `verify`: every rule that a published state must satisfy by itself. It makes no request to the API and holds
 * nothing. Damage is a problem that it reports; a state that cannot be reached or that another version wrote is an error.
 */
import { realpath, stat } from 'node:fs/promises'
import { hasCode } from '../../base/errors.js'
import { publishedPath } from '../../model/publish-formats.js'
import { manifestFile, readManifest } from '../../publish/parquet/manifest.js'
import { openParquet } from '../../publish/parquet/reader.js'
import type { Database } from '../../warehouse/connection/database.js'
import {
  duckdbCause,
  firstLine,
  isDamage,
  isStatementFault,
  unreadable,
} from '../../warehouse/connection/duckdb-error.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import { readLastRun } from '../../warehouse/history/run-order.js'
import { checkDatabaseFile } from './check-database.js'
import { checkParquetFiles, filesOf, problem } from './check-parquet.js'
import { type CheckedTables, checkTables, PUBLISH_AGAIN } from './check-tables.js'
import { compareFormats } from './compare-formats.js'
import { openDatabaseFile, openParquetVersion } from './open-state.js'
import type { Problem } from './problem.js'

export interface LocalProof {
  /** Rules, files and partitions that were checked. */
  readonly checks: number
  /** Paths of the published states that were checked. */
  readonly states: readonly string[]
  readonly problems: readonly Problem[]
  /** What was left out, and why. */
  readonly notes: readonly string[]
}

const NOTHING: LocalProof = { checks: 0, states: [], problems: [], notes: [] }

/** Adds the findings of both. */
export const together = (one: LocalProof, other: Partial<LocalProof>): LocalProof => ({
  checks: one.checks + (other.checks ?? 0),
  states: [...one.states, ...(other.states ?? [])],
  problems: [...one.problems, ...(other.problems ?? [])],
  notes: [...one.notes, ...(other.notes ?? [])],
})

/** Checks every published format of a warehouse directory. Throws a `WarehouseError`. */
export const verifyDirectory = async (directory: string, signal: AbortSignal): Promise<LocalProof> => {
  const file = publishedPath(directory, 'duckdb')
  const parquet = await findParquet(publishedPath(directory, 'parquet'), signal)
  const proof = parquet === null ? NOTHING : together(NOTHING, parquet.proof)
  if (await exists(file)) {
    return await verifyFile({ file, state: file, signal }, async (database) => {
      if (parquet === null || parquet.version === null) return proof
      const { note, ...compared } = await compareFormats({ database, parquet: parquet.version, signal })
      return together(proof, { ...compared, notes: note === null ? [] : [note] })
    })
  }
  if (parquet === null || parquet.version === null) return proof
  const { directory: version, state } = parquet.version
  const checked = await reportingDamage(state, async () => {
    await using database = await openParquetVersion(version)
    return await checkTables({ state, database, signal })
  })
  return together(proof, checked)
}

interface FileState {
  readonly file: string
  /** Its path, for people. */
  readonly state: string
  readonly signal: AbortSignal
}

/** Checks a database file, and what `more` checks beside it. */
export const verifyFile = async (
  { file, state, signal }: FileState,
  more: (database: Database) => Promise<LocalProof>,
): Promise<LocalProof> => {
  let beside = NOTHING
  const checked = await reportingDamage(state, async () => {
    await using database = await openDatabaseFile(file)
    const found = await checkDatabaseFile({ file, state, database, signal })
    beside = await more(database)
    return found
  })
  return together(together(NOTHING, { ...checked, states: [state] }), beside)
}

/** Turns an error that proves damage into a problem. */
const reportingDamage = async (state: string, work: () => Promise<CheckedTables>): Promise<CheckedTables> => {
  try {
    return await work()
  } catch (error) {
    const cause = duckdbCause(error)
    if (isStatementFault(cause) || (cause instanceof WarehouseUnusableError && cause.cause === undefined))
      throw error
    if (!isDamage(cause)) throw unreadable(state, error)
    return { checks: 1, problems: [damaged(state, firstLine(cause))] }
  }
}

const damaged = (state: string, example: string): Problem => ({
  rule: 'state_can_be_read',
  state,
  where: 'files',
  says: 'the state is damaged',
  count: 1,
  example,
  advice: PUBLISH_AGAIN,
})

interface FoundParquet {
  readonly proof: Partial<LocalProof>
  /** Null if its files are damaged. */
  readonly version: Parameters<typeof compareFormats>[0]['parquet'] | null
}

/** Null if no Parquet is published. The link is followed once, so that a publish meanwhile does not matter. */
const findParquet = async (state: string, signal: AbortSignal): Promise<FoundParquet | null> => {
  const directory = await realpath(state).catch(ifMissing(state))
  if (directory === null) return null
  const manifest = await readManifest(directory).catch((error: unknown) => {
    throw unreadable(manifestFile(directory), error)
  })
  const states = [state]
  if (manifest === null)
    return {
      proof: { checks: 1, states, problems: [damaged(state, manifestFile(directory))] },
      version: null,
    }
  const version = { directory, manifest, state }
  const problems = await checkParquetFiles(version, signal).catch((error: unknown) => {
    throw unreadable(state, error)
  })
  const checks = filesOf(manifest).length + 1
  if (problems.some(({ rule }) => rule !== 'files_are_in_manifest'))
    return { proof: { checks, states, problems }, version: null }
  const named = await checkRunOf(version)
  return { proof: { checks: checks + 1, states, problems: [...problems, ...named] }, version }
}

/** The manifest names the last run of its own files. */
const checkRunOf = async ({
  directory,
  manifest,
  state,
}: NonNullable<FoundParquet['version']>): Promise<readonly Problem[]> => {
  await using database = await openParquet(directory)
  const { run_id } = await database.exclusively(readLastRun)
  const says = {
    rule: 'manifest_names_last_run',
    says: 'the manifest names another run than the last one in its files',
  }
  return problem(state, says, run_id === manifest.run_id ? [] : [manifest.run_id ?? 'none'])
}

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(ifMissing(path))) !== null

const ifMissing =
  (path: string) =>
  (error: unknown): null => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
    throw unreadable(path, error)
  }
