/**
 * Checks a published database file: its blocks, every rule of its tables and views, and the Parquet files beside it. It does so in a
 * process of its own: the checksum of a block misses some damage, such as two equal flips of the highest bits. DuckDB may then end its
 * process by a signal, and this process reports that.
 */
import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { throwIfAborted } from '../../base/clock.js'
import { haveBlocksChecksums } from '../../publish/block-checksums.js'
import { readEverything } from '../../publish/duckdb.js'
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
import { compareFormats } from './check-parquet.js'
import { checkTables, openDatabaseFile } from './check-tables.js'
import { type Checked, damaged, type LocalProof, NOTHING, proofSchema } from './proof.js'

/** What another process can answer. */
interface FileQuestion {
  readonly file: string
  /** Its path, for people. */
  readonly state: string
  /** The Parquet version beside it, whose files are intact; null if there is none. */
  readonly parquet: { readonly directory: string; readonly state: string } | null
}

/** The module that answers in a process of its own. It is beside this one, in the compiled modules and in the bundle (`config/bundle.mjs`). */
const ANSWERING = fileURLToPath(new URL('./answer-check-file.js', import.meta.url))

/** Signals by which broken memory ends a process. Any other has another cause. */
const CRASHES: readonly unknown[] = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV']

/** As `checkFile`, in a process of its own. */
export const checkFileApart = async (question: FileQuestion, signal: AbortSignal): Promise<LocalProof> => {
  throwIfAborted(signal)
  // Made here, because a process that crashes leaves its files behind.
  const spill = await mkdtemp(join(tmpdir(), 'fieldwork-sync-verify-')).catch((error: unknown) => {
    throw unreadable(question.state, error)
  })
  try {
    const { proof, endedBy } = await ask(question, spill, signal)
    throwIfAborted(signal)
    if (CRASHES.includes(endedBy))
      return {
        checks: 1,
        states: [question.state],
        problems: [damaged(question.state, `DuckDB does not notice it, but reading ends by ${endedBy}`)],
        notes: [],
      }
    // Errors keep their classes only in the process that throws them.
    return proof ?? (await checkFile(question, spill, signal))
  } finally {
    await rm(spill, { recursive: true, force: true })
  }
}

interface Answer {
  /** Null if the process ended without one. */
  readonly proof: LocalProof | null
  readonly endedBy: NodeJS.Signals | null
}

const ask = (question: FileQuestion, spill: string, signal: AbortSignal): Promise<Answer> =>
  new Promise((resolve) => {
    const child = fork(ANSWERING, [JSON.stringify(question), spill], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    let proof: LocalProof | null = null
    const stop = () => child.kill()
    const end = (endedBy: NodeJS.Signals | null) => {
      signal.removeEventListener('abort', stop)
      resolve({ proof, endedBy })
    }
    signal.addEventListener('abort', stop, { once: true })
    child.on('message', (message) => {
      proof = proofSchema.safeParse(message).data ?? null
    })
    child.once('error', () => end(null))
    child.once('close', (_, endedBy) => end(endedBy))
  })

/** DuckDB spills into `temporaryDirectory`. Throws a `WarehouseError`; damage is a problem in the proof. */
export const checkFile = async (
  { file, state, parquet }: FileQuestion,
  temporaryDirectory: string,
  signal: AbortSignal,
): Promise<LocalProof> => {
  const notes: string[] = []
  const checked = await reportingDamage({ state, signal }, async () => {
    await using database = await openDatabaseFile(file, temporaryDirectory)
    // A free block may be without its checksum. DuckDB reads every block that it uses.
    if (!(await haveBlocksChecksums(file, signal)))
      await database.exclusively((sql) => database.interruptibly(signal, () => readEverything(sql, signal)))
    const tables = await checkTables({ state, database, signal })
    const found = { ...tables, checks: tables.checks + 1 }
    const manifest = parquet === null ? null : await readManifest(parquet.directory)
    if (parquet === null || manifest === null) return found
    const { note, checks, problems } = await compareFormats(database, { ...parquet, manifest }, signal)
    if (note !== null) notes.push(note)
    return { checks: found.checks + checks, problems: [...found.problems, ...problems] }
  })
  return { ...NOTHING, ...checked, states: [state], notes }
}

/** Turns an error that proves damage into a problem. */
export const reportingDamage = async (
  { state, signal }: { readonly state: string; readonly signal: AbortSignal },
  work: () => Promise<Checked>,
): Promise<Checked> => {
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
