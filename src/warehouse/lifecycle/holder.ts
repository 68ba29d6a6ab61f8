/**
 * Who holds the warehouse. The lock itself is DuckDB's own lock on `work.duckdb`, which the system releases
 * however the process ends; this note beside it only gives the lock a name.
 */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { z } from 'zod'
import { hasCode } from '../../base/errors.js'
import { holderFile } from './files.js'

const holderSchema = z.object({
  pid: z.number(),
  host: z.string(),
  command: z.string(),
  started_at: z.string(),
})
export type Holder = z.infer<typeof holderSchema>

export const writeHolder = async (directory: string, command: string, startedAtMs: number): Promise<void> => {
  const holder: Holder = {
    pid: process.pid,
    host: hostname(),
    command,
    started_at: new Date(startedAtMs).toISOString(),
  }
  await writeFile(holderFile(directory), `${JSON.stringify(holder)}\n`)
}

export const removeHolder = (directory: string): Promise<void> => rm(holderFile(directory), { force: true })

/** The note of the present or, after a kill, of the last holder; null where there is none that can be read. */
export const readHolder = async (directory: string): Promise<Holder | null> => {
  try {
    return holderSchema.parse(JSON.parse(await readFile(holderFile(directory), 'utf8')))
  } catch {
    // Missing, or half written at this very moment: the lock stands without a name.
    return null
  }
}

export const describeHolder = (holder: Holder | null): string =>
  holder === null
    ? 'another process'
    : `"${holder.command}", process ${holder.pid} on ${holder.host}, since ${holder.started_at}`

/**
 * Whether the process of a note may still run. A kill leaves the note behind; of a process on another machine (or in
 * another pod) nothing can be known, and the note is believed.
 */
export const isAlive = ({ host, pid }: Holder): boolean => host !== hostname() || isRunning(pid)

/** Whether this machine has a process of this number. */
export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}
