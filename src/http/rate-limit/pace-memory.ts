/**
 * What a run leaves for the next one about how the server counts: a small file beside the ledger, and none where there is nothing
 * to say. It is written when that is found out, under another name and then renamed, so that a kill leaves it whole or not at all. It is
 * believed for a week: whether it still holds is found out anew at the price of a few refusals, and one odd 429 does not
 * slow an account down for good. What cannot be read, is about another cap or lies in the future is nothing.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type CapOwner, capFileName } from '../../base/cap-owner.js'
import { PaceMemoryError } from '../errors.js'
import type { Cap } from './even-pace.js'

/** Seven days. */
const BELIEVED_MS = 604_800_000
/** The clock may have been put back by so much since. */
const AHEAD_MS_MAX = 3_600_000
/** No file of ours is larger. */
const READ_BYTES_MAX = 4_096

const PREFIX = 'even-pace'

const memorySchema = z.strictObject({
  /** What the settings called it then, for people. */
  account: z.string(),
  requests: z.number().int().positive(),
  per_ms: z.number().int().positive(),
  /** When a counter refused a burst, wall clock. */
  found_at: z.number().int().nonnegative(),
})

/** An account whose requests are sent evenly, because of what a run has found out. */
export interface RememberedPace {
  readonly account: string
  readonly cap: Cap
  /** Wall clock, milliseconds since 1970. */
  readonly sinceMs: number
  readonly untilMs: number
}

export interface PaceMemory {
  /** Whether the server of this account is known to count more strictly. */
  recall(cap: Cap, nowMs: number): boolean
  /** Throws `PaceMemoryError` where it cannot be written. */
  remember(cap: Cap, nowMs: number): void
  /** Throws `PaceMemoryError` where it cannot be removed. */
  forget(): void
}

/** For clients that keep nothing. */
export const createNoPaceMemory = (): PaceMemory => ({
  recall: () => false,
  remember: () => undefined,
  forget: () => undefined,
})

/** The file name of the note about a cap. */
export const paceFileName = (owner: CapOwner): string => capFileName(PREFIX, owner, 'json')

export interface PaceMemoryOptions {
  /** Created when there is something to remember. */
  readonly directory: string
  readonly owner: CapOwner
  /** What the settings call it, for people. */
  readonly account: string
}

export const openPaceMemory = ({ directory, owner, account }: PaceMemoryOptions): PaceMemory => {
  const path = join(directory, paceFileName(owner))
  const attempt = (work: () => void): void => {
    try {
      work()
    } catch (cause) {
      throw new PaceMemoryError(path, cause)
    }
  }
  return {
    recall: (cap, nowMs) => {
      const found = readPace(path, nowMs)
      return found !== null && isSame(found.cap, cap)
    },
    remember: ({ requests, perMs }, nowMs) =>
      attempt(() => {
        mkdirSync(directory, { recursive: true })
        const found = { account, requests, per_ms: perMs, found_at: Math.floor(nowMs) }
        replace(path, `${JSON.stringify(found)}\n`)
      }),
    forget: () => attempt(() => rmSync(path, { force: true })),
  }
}

/** What is remembered in a directory, by account; nothing where there is no directory. */
export const rememberedPaces = (directory: string, nowMs: number): readonly RememberedPace[] =>
  namesIn(directory)
    .filter((name) => name.startsWith(`${PREFIX}-`) && name.endsWith('.json'))
    .sort()
    .flatMap((name) => readPace(join(directory, name), nowMs) ?? [])

const namesIn = (directory: string): readonly string[] => {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** Null for whatever is not to be believed. */
const readPace = (path: string, nowMs: number): RememberedPace | null => {
  try {
    const stat = statSync(path)
    if (!stat.isFile() || stat.size > READ_BYTES_MAX) return null
    const { account, requests, per_ms, found_at } = memorySchema.parse(JSON.parse(readFileSync(path, 'utf8')))
    const untilMs = found_at + BELIEVED_MS
    if (nowMs >= untilMs || nowMs < found_at - AHEAD_MS_MAX) return null
    return { account, cap: { requests, perMs: per_ms }, sinceMs: found_at, untilMs }
  } catch {
    return null
  }
}

const isSame = (one: Cap, other: Cap): boolean => one.requests === other.requests && one.perMs === other.perMs

const replace = (path: string, text: string): void => {
  const temporary = `${path}.new`
  const file = openSync(temporary, 'w')
  try {
    const written = writeSync(file, text)
    if (written < Buffer.byteLength(text)) throw new Error('no space left')
  } catch (error) {
    closeSync(file)
    rmSync(temporary, { force: true })
    throw error
  }
  closeSync(file)
  renameSync(temporary, path)
}
