/**
 * Checks a published database file in a process of its own. The checksum of a block misses some damage, such as two equal flips of the
 * highest bits. DuckDB may then end its process by a signal, and this process reports that.
 */
import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { throwIfAborted } from '../../base/clock.js'
import { unreadable } from '../../warehouse/connection/duckdb-error.js'
import { checkFile, damaged, type FileQuestion, type LocalProof } from './check-file.js'

/** The module that answers. It is beside this one, in the compiled modules and in the bundle (`config/bundle.mjs`). */
const ANSWERING = fileURLToPath(new URL('./answer-check-file.js', import.meta.url))

/** Signals by which broken memory ends a process. Any other has another cause. */
const CRASHES: readonly unknown[] = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV']

/** Throws a `WarehouseError`; damage is a problem in the proof. */
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

const proofSchema = z.object({
  checks: z.number(),
  states: z.array(z.string()),
  problems: z.array(
    z.object({
      rule: z.string(),
      state: z.string(),
      where: z.string(),
      says: z.string(),
      count: z.number(),
      example: z.string(),
      advice: z.string(),
    }),
  ),
  notes: z.array(z.string()),
})
