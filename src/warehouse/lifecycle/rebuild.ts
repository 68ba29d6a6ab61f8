/**
 * Fills a lost work database from the newest published state. The cursor of that state is older, so the API supplies later changes. A
 * damaged state is skipped for an older one. A state that cannot be read now, for example because it is locked, may be the newest, so the
 * run ends and replaces nothing (docs/decisions/warehouse.md#0038-a-lost-work-database-is-rebuilt-from-the-newest-published-state).
 */
import type { Log } from '../../base/log.js'
import type { Database } from '../connection/database.js'
import { duckdbCause, firstLine, isDamage, isFileFailure, lockHolder } from '../connection/duckdb-error.js'
import { WarehouseUnusableError } from '../connection/errors.js'

export interface PublishedState {
  readonly path: string
  /** The name of the state within a sentence, such as `the published file`. */
  readonly what: string
  /** The number of recorded runs, which only grows. Rejects if the state cannot be read; `isDamage` tells the cause. */
  countRuns(): Promise<number>
  /** Fills the work database in one transaction, so that it is empty after a kill, and the next run fills it. Rejects like `countRuns`. */
  fill(): Promise<void>
}

export interface PublishedPlace {
  readonly path: string
  /** The states from which the empty `database` can be filled. Rejects if the directory cannot be read. */
  readonly find: (database: Database) => Promise<readonly PublishedState[]>
}

/**
 * Leaves the work database empty if nothing was published. Throws `WarehouseUnusableError` if a state cannot be read now, or if
 * all are damaged.
 */
export const rebuild = async (
  database: Database,
  places: readonly PublishedPlace[],
  log: Log,
): Promise<void> => {
  const states: PublishedState[] = []
  for (const { path, find } of places) states.push(...(await find(database).catch(throwUnreadable(path))))
  const problems: { readonly path: string; readonly error: unknown }[] = []
  const skipDamaged = (path: string, thrown: unknown) => {
    const error = duckdbCause(thrown)
    if (!isDamage(error)) throwUnreadable(path)(error)
    problems.push({ path, error })
  }
  const counted: { readonly state: PublishedState; readonly runs: number }[] = []
  for (const state of states)
    await state.countRuns().then(
      (runs) => counted.push({ state, runs }),
      (error: unknown) => skipDamaged(state.path, error),
    )
  for (const { state } of counted.toSorted((a, b) => b.runs - a.runs)) {
    try {
      await state.fill()
    } catch (error) {
      skipDamaged(state.path, error)
      continue
    }
    for (const { path, error } of problems)
      log.warn({ file: path, problem: firstLine(error) }, 'this published state is damaged')
    log.warn({ file: state.path }, `the work database was lost and is rebuilt from ${state.what}`)
    return
  }
  if (problems.length === 0) return
  const reasons = problems.map(({ path, error }) => `${path}: ${firstLine(error)}.`)
  throw new WarehouseUnusableError(
    `the work database is lost and cannot be rebuilt. ${reasons.join(' ')} Restore the published state from a backup, or move it away to start anew`,
    { cause: problems[0]?.error },
  )
}

/** A state that cannot be read now may be the newest one. */
const throwUnreadable =
  (path: string) =>
  (cause: unknown): never => {
    if (!isFileFailure(cause) && !(cause instanceof WarehouseUnusableError)) throw cause
    const holder = lockHolder(cause)
    const [why, advice] =
      holder === null
        ? [firstLine(cause), 'Check the permissions, the disk, and who has it open']
        : [`${holder.name} has it open for writing`, 'Close it there, or open it read-only']
    throw new WarehouseUnusableError(
      `the work database is lost and cannot be rebuilt from ${path} now: ${why}. Nothing was replaced. ${advice}, then run again`,
      { cause },
    )
  }
