/**
 * A work database that was lost is filled from the newest state that was published. Its cursor is older, so the API
 * supplies what came after it. A damaged state is passed over for an older one. A state that cannot be read now, such as a
 * locked one, may be the newest: then the run ends and replaces nothing.
 */
import type { Log } from '../../base/log.js'
import type { Database } from '../connection/database.js'
import { duckdbCause, firstLine, isDamage, lockHolder } from '../connection/duckdb-error.js'
import { WarehouseUnusableError } from '../connection/errors.js'

/** A committed state that was published, from which an empty work database can be filled. */
export interface PublishedState {
  readonly path: string
  /** What it is, in a sentence: `the published file`. */
  readonly what: string
  /** How many runs it has recorded; that only grows. Rejects when it cannot be read; `isDamage` tells why. */
  countRuns(): Promise<number>
  /** In one transaction: a kill in the middle leaves the work database empty, and the next run does it. Rejects likewise. */
  fill(): Promise<void>
}

/** Rejects when it cannot look. */
export type FindPublished = (database: Database) => Promise<readonly PublishedState[]>

/** Where a publish format has its states; `publish/formats` names these places. */
export interface PublishedPlace {
  readonly path: string
  readonly find: FindPublished
}

/**
 * Begins anew where nothing was published. Throws `WarehouseUnusableError` where a state cannot be read now, or where all
 * are damaged.
 */
export const rebuild = async (
  database: Database,
  places: readonly PublishedPlace[],
  log: Log,
): Promise<void> => {
  const states: PublishedState[] = []
  for (const { path, find } of places) states.push(...(await find(database).catch(cannotLook(path))))
  const problems: { readonly path: string; readonly error: unknown }[] = []
  const passOver = (path: string, thrown: unknown) => {
    const error = duckdbCause(thrown)
    if (!isDamage(error)) cannotLook(path)(error)
    problems.push({ path, error })
  }
  for (const state of await newestFirst(states, passOver)) {
    try {
      await state.fill()
    } catch (error) {
      passOver(state.path, error)
      continue
    }
    for (const { path, error } of problems)
      log.warn({ file: path, problem: firstLine(error) }, 'what was published there is damaged')
    log.warn({ file: state.path }, `the work database was lost and is rebuilt from ${state.what}`)
    return
  }
  if (problems.length === 0) return
  const told = problems.map(({ path, error }) => `${path}: ${firstLine(error)}`)
  throw new WarehouseUnusableError(
    `the work database is lost and cannot be rebuilt from ${told.join('; nor from ')}. Restore that file, or move it away to begin anew`,
    { cause: problems[0]?.error },
  )
}

/** What cannot be read now is not older than the rest. */
const cannotLook =
  (path: string) =>
  (cause: unknown): never => {
    const holder = lockHolder(cause)
    const [why, advice] =
      holder === null
        ? [firstLine(cause).replace(/\.$/, ''), 'Check the permissions and the disk, or who has it open']
        : [`${holder} has it open for writing`, 'Close it there, or open it read-only']
    throw new WarehouseUnusableError(
      `the work database is lost and cannot be rebuilt from ${path} now: ${why}. Nothing was replaced. ${advice}, then run again`,
      { cause },
    )
  }

/** By the runs they have recorded; of two with as many, the first. `passOver` throws for what is not damaged. */
const newestFirst = async (
  states: readonly PublishedState[],
  passOver: (path: string, error: unknown) => void,
): Promise<readonly PublishedState[]> => {
  if (states.length === 1) return states
  const counted: { readonly state: PublishedState; readonly runs: number }[] = []
  for (const state of states) {
    await state.countRuns().then(
      (runs) => counted.push({ state, runs }),
      (error: unknown) => passOver(state.path, error),
    )
  }
  return counted.toSorted((a, b) => b.runs - a.runs).map(({ state }) => state)
}
