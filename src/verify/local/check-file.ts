/**
 * Checks a published database file: its blocks, every rule of its tables and views, and the Parquet files beside it. The check runs in a
 * process of its own: the checksum of a block misses some damage, such as two equal flips of the highest bits, and DuckDB may then end its
 * process by a signal, which this process reports.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { throwIfAborted } from '../../base/signals.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { packageVersion } from '../../base/version.js'
import { tableName } from '../../model/sync-tables.js'
import { openPublishedFile, readTables } from '../../publish/duckdb.js'
import { readManifest } from '../../publish/parquet/manifest.js'
import { varcharCell } from '../../warehouse/connection/cells.js'
import type { Sql } from '../../warehouse/connection/database.js'
import {
  duckdbCause,
  firstLine,
  isAboutContent,
  isStatementFault,
  unreadable,
} from '../../warehouse/connection/duckdb-error.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import { NUMBERED_RUNS } from '../../warehouse/history/runs.js'
import { isOwnFault } from '../../warehouse/lifecycle/migrations.js'
import { differentViews } from '../../warehouse/lifecycle/plain-data.js'
import { compareFormats } from './check-parquet.js'
import { checkTables, OPENING } from './check-tables.js'
import { damaged, type LocalProof, problemOfFiles, proofSchema, together } from './proof.js'

/** The question to the other process. */
export const fileQuestion = z.object({
  file: z.string(),
  /** The path of the state, for people. */
  state: z.string(),
  /** The Parquet version beside it, whose files are intact; null if there is none. */
  parquet: z.object({ directory: z.string(), state: z.string() }).nullable(),
})
type FileQuestion = Readonly<z.output<typeof fileQuestion>>

/** The module that answers in a process of its own. */
const ANSWERING = fileURLToPath(new URL('./answer-check-file.js', import.meta.url))

/** Signals by which broken memory ends a process. Any other signal has another cause. */
const CRASHES: readonly unknown[] = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV']

/** As `checkFile`, in a process of its own. */
export const checkFileApart = async (question: FileQuestion, signal: AbortSignal): Promise<LocalProof> => {
  throwIfAborted(signal)
  // Made and removed by this process, because a process that crashes leaves its files.
  await using spill = await makeTemporaryDirectory('verify')
  const { proof, endedBy } = await ask(question, spill.path, signal)
  throwIfAborted(signal)
  if (CRASHES.includes(endedBy)) {
    const problems = damaged(question.state, `DuckDB does not notice it, but reading ends by ${endedBy}`)
    return together({ checks: 1, states: [question.state], problems })
  }
  // Errors keep their classes only in the process that throws them.
  return proof ?? (await checkFile(question, spill.path, signal))
}

interface Answer {
  /** Null if the process ended without a proof. */
  readonly proof: LocalProof | null
  readonly endedBy: NodeJS.Signals | null
}

const ask = (question: FileQuestion, spill: string, signal: AbortSignal): Promise<Answer> =>
  new Promise((resolve) => {
    const child = fork(ANSWERING, [JSON.stringify(question), spill], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      signal,
    })
    let proof: LocalProof | null = null
    child.on('message', (message) => {
      proof = proofSchema.safeParse(message).data ?? null
    })
    // An abort also causes an `error` event, and the process closes after it.
    child.on('error', () => {
      if (child.pid === undefined) resolve({ proof, endedBy: null })
    })
    child.once('close', (_, endedBy) => resolve({ proof, endedBy }))
  })

/** DuckDB spills into `temporaryDirectory`. Throws a `WarehouseError`; damage is a problem in the proof. */
export const checkFile = async (
  { file, state, parquet }: FileQuestion,
  temporaryDirectory: string,
  signal: AbortSignal,
): Promise<LocalProof> => {
  return await reportingDamage({ state, temporaryDirectory, signal }, async () => {
    const directories = parquet === null ? [] : [parquet.directory]
    const opening = { ...OPENING, temporaryDirectory, directories }
    await using database = await openPublishedFile(file, opening)
    const views = await database.exclusively(differentViews)
    if (views.length > 0) await database.exclusively((sql) => requireThisVersion(sql, state))
    const proof = together(
      { checks: 2, states: [state] },
      { problems: problemOfFiles(state, VIEWS_DIFFER, views.map(tableName)) },
    )
    await database.exclusively((sql) => database.interruptibly(signal, () => readTables(sql, signal)))
    const checked = together(proof, await checkTables({ state, database, signal }))
    const manifest = parquet === null ? null : await readManifest(parquet.directory)
    if (parquet === null || manifest === null) return checked
    return together(checked, await compareFormats(database, { ...parquet, manifest }, signal))
  })
}

/** The views of another version are no damage. */
const requireThisVersion = async (sql: Sql, state: string): Promise<void> => {
  const [last] = await sql.rows(
    z.object({ version: varcharCell.nullable() }),
    `SELECT max_by(version, run_number) AS version FROM ${NUMBERED_RUNS}`,
  )
  const version = last?.version ?? packageVersion()
  if (version !== packageVersion())
    throw new WarehouseUnusableError(
      `${state} has the views of fieldwork-sync ${version}, which published it, and this is ${packageVersion()}. Run fieldwork-sync sync once, then fieldwork-sync verify`,
    )
}

const VIEWS_DIFFER = {
  rule: 'views_are_declared',
  where: 'views',
  says: 'views with another SQL than that of this version, which every program that reads them would run',
}

/** Turns an error that proves damage into a problem. */
export const reportingDamage = async (
  {
    state,
    temporaryDirectory,
    signal,
  }: { readonly state: string; readonly temporaryDirectory?: string; readonly signal: AbortSignal },
  work: () => Promise<LocalProof>,
): Promise<LocalProof> => {
  try {
    return await work()
  } catch (error) {
    const cause = duckdbCause(error)
    if (cause instanceof WarehouseUnusableError && cause.cause === undefined) throw error
    if (!isAboutContent(cause)) throw unreadable(state, error, temporaryDirectory)
    if (isStatementFault(cause) && (await isOwnFault((database) => checkTables({ state, database, signal }))))
      throw error
    return together({ checks: 1, states: [state], problems: damaged(state, firstLine(cause)) })
  }
}
