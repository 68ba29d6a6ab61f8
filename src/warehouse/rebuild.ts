/**
 * A work database that was lost is filled from what was published: from the newest state that can be read. Its cursor
 * is older, so the API supplies what came after it.
 */
import { stat } from 'node:fs/promises'
import { z } from 'zod'
import type { Log } from '../base/log.js'
import { bigintCell } from './cells.js'
import type { Database, Sql } from './database.js'
import { literal } from './ddl.js'
import { duckdbCause, firstLine, isTroubleAroundTheFile } from './duckdb-error.js'
import { WarehouseUnusableError } from './errors.js'
import { publishedFile } from './files.js'

/** A committed state that was published, from which an empty work database can be filled. */
export interface PublishedState {
  readonly path: string
  /** What it is, in a sentence: `the published file`. */
  readonly what: string
  /** How many runs it has recorded; that only grows. Rejects when it cannot be read. */
  countRuns(): Promise<number>
  /** In one transaction: a kill in the middle leaves the work database empty, and the next run does it. */
  fill(): Promise<void>
}

/** Finds what `publish` has put beside the work database; this room knows `fieldwork.duckdb` alone. */
export type FindPublished = (database: Database) => Promise<readonly PublishedState[]>

/** Begins anew where nothing was published. */
export const rebuild = async (
  database: Database,
  directory: string,
  findPublished: FindPublished,
  log: Log,
): Promise<void> => {
  const states = [...(await findFile(database, directory)), ...(await findPublished(database))]
  const problems: { readonly path: string; readonly error: unknown }[] = []
  const passOver = (path: string, error: unknown) => {
    problems.push({ path, error: duckdbCause(error) })
  }
  for (const state of await newestFirst(states, passOver)) {
    try {
      await state.fill()
      for (const { path, error } of problems)
        log.warn({ file: path, problem: firstLine(error) }, 'what was published there cannot be read')
      log.warn({ file: state.path }, `the work database was lost and is rebuilt from ${state.what}`)
      return
    } catch (error) {
      passOver(state.path, error)
      // It may be whole, and then the next one would be older than need be.
      if (isTroubleAroundTheFile(duckdbCause(error))) break
    }
  }
  if (problems.length === 0) return
  const told = problems.map(({ path, error }) => `${path}: ${firstLine(error)}`)
  throw new WarehouseUnusableError(
    `the work database is lost and cannot be rebuilt from ${told.join('; nor from ')}. Restore that file, or move it away to begin anew`,
    { cause: problems[0]?.error },
  )
}

/** By the runs they have recorded; of two with as many, the first. */
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

const findFile = async (database: Database, directory: string): Promise<readonly PublishedState[]> => {
  const path = publishedFile(directory)
  const isThere = await stat(path).then(
    () => true,
    () => false,
  )
  if (!isThere) return []
  const attached = <Result>(work: (sql: Sql) => Promise<Result>) =>
    database.exclusively(async (sql) => {
      await sql.run(`ATTACH ${literal(path)} AS published (READ_ONLY)`)
      try {
        return await work(sql)
      } finally {
        await sql.run('DETACH published')
      }
    })
  return [
    {
      path,
      what: 'the published file',
      countRuns: () =>
        attached(async (sql) => {
          const [row] = await sql.rows(
            z.object({ runs: bigintCell }),
            'SELECT count(*) AS runs FROM published._sync.runs',
          )
          return row?.runs ?? 0
        }),
      fill: () => attached((sql) => sql.run('COPY FROM DATABASE published TO "work"')),
    },
  ]
}
