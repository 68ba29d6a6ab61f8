/**
 * The note that names the holder of the warehouse. The lock itself is DuckDB's lock on `work.duckdb`, which the system releases
 * however the process ends (docs/decisions/warehouse.md#0028-the-lock-of-duckdb-is-the-lock).
 */
import { rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { z } from 'zod'
import { isRunning } from '../../base/is-running.js'
import { parseJson } from '../../base/parse.js'
import { readOwnText } from '../../base/text-file.js'
import { holderFile } from './files.js'

const holderSchema = z.object({
  pid: z.number(),
  host: z.string(),
  command: z.string(),
  started_at: z.string(),
})
export type Holder = z.infer<typeof holderSchema>

export const writeHolder = async (directory: string, command: string, startedAtMs: number): Promise<void> => {
  const started_at = new Date(startedAtMs).toISOString()
  const holder: Holder = { pid: process.pid, host: hostname(), command, started_at }
  await removeHolder(directory)
  // A new file, because writing would follow a link that another user has put here.
  await writeFile(holderFile(directory), `${JSON.stringify(holder)}\n`, { flag: 'wx' })
}

export const removeHolder = (directory: string): Promise<void> => rm(holderFile(directory), { force: true })

/** The note of the current holder, or of the last one after a kill; null if no note can be read. */
export const readHolder = async (directory: string): Promise<Holder | null> => {
  // The note is missing or being written. The lock holds also without a name.
  const text = await readOwnText(holderFile(directory)).catch(() => null)
  return text === null ? null : parseJson(holderSchema, text)
}

export const describeHolder = (holder: Holder | null): string =>
  holder === null
    ? 'another process'
    : `"${holder.command}", process ${holder.pid} on ${holder.host}, since ${holder.started_at}`

/**
 * Whether the process of a note may still run, because a kill leaves the note. A process on another machine or in another pod counts as
 * running.
 */
export const isAlive = ({ host, pid }: Holder): boolean => host !== hostname() || isRunning(pid)
