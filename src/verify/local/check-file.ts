/** Checks a published database file, and compares it with the Parquet files beside it. `check-file-apart.ts` does so in a process of its own. */
import { readManifest } from '../../publish/parquet/manifest.js'
import {
  duckdbCause,
  firstLine,
  isAboutContent,
  isStatementFault,
  unreadable,
} from '../../warehouse/connection/duckdb-error.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import { isOwnFault } from '../../warehouse/lifecycle/own-fault.js'
import { checkDatabaseFile } from './check-database.js'
import { type CheckedTables, checkTables, PUBLISH_AGAIN } from './check-tables.js'
import { compareFormats } from './compare-formats.js'
import { openDatabaseFile } from './open-state.js'
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

export const NOTHING: LocalProof = { checks: 0, states: [], problems: [], notes: [] }

/** Adds the findings of both. */
export const together = (one: LocalProof, other: Partial<LocalProof>): LocalProof => ({
  checks: one.checks + (other.checks ?? 0),
  states: [...one.states, ...(other.states ?? [])],
  problems: [...one.problems, ...(other.problems ?? [])],
  notes: [...one.notes, ...(other.notes ?? [])],
})

/** What another process can answer. */
export interface FileQuestion {
  readonly file: string
  /** Its path, for people. */
  readonly state: string
  /** The Parquet version beside it, whose files are intact; null if there is none. */
  readonly parquet: { readonly directory: string; readonly state: string } | null
}

/** DuckDB spills into `temporaryDirectory`. Throws a `WarehouseError`; damage is a problem in the proof. */
export const checkFile = async (
  { file, state, parquet }: FileQuestion,
  temporaryDirectory: string,
  signal: AbortSignal,
): Promise<LocalProof> => {
  const notes: string[] = []
  const checked = await reportingDamage({ state, signal }, async () => {
    await using database = await openDatabaseFile(file, temporaryDirectory)
    const found = await checkDatabaseFile({ file, state, database, signal })
    const manifest = parquet === null ? null : await readManifest(parquet.directory)
    if (parquet === null || manifest === null) return found
    const { note, checks, problems } = await compareFormats({
      database,
      parquet: { ...parquet, manifest },
      signal,
    })
    if (note !== null) notes.push(note)
    return { checks: found.checks + checks, problems: [...found.problems, ...problems] }
  })
  return { ...NOTHING, ...checked, states: [state], notes }
}

/** Turns an error that proves damage into a problem. */
export const reportingDamage = async (
  { state, signal }: { readonly state: string; readonly signal: AbortSignal },
  work: () => Promise<CheckedTables>,
): Promise<CheckedTables> => {
  try {
    return await work()
  } catch (error) {
    const cause = duckdbCause(error)
    if (cause instanceof WarehouseUnusableError && cause.cause === undefined) throw error
    if (!isAboutContent(cause)) throw unreadable(state, error)
    if (isStatementFault(cause) && (await isOwnFault((database) => checkTables({ state, database, signal }))))
      throw error
    return { checks: 1, problems: [damaged(state, firstLine(cause))] }
  }
}

export const damaged = (state: string, example: string): Problem => ({
  rule: 'state_can_be_read',
  state,
  where: 'files',
  says: 'the state is damaged',
  count: 1,
  example,
  advice: PUBLISH_AGAIN,
})
