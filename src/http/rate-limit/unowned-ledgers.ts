/**
 * Ledgers that are named after an account, as they were until ledgers went by address and identifier. An account may have been renamed since, so
 * nobody knows whose cap they are about: each of them counts for every client of the directory until its last window is over. They are
 * only read, and are removed when no setting could make them count any more.
 */
import { readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { heldUntilMs, type LedgerRecord, readLedger, UNSEEN_STEP_MS } from './ledger-arithmetic.js'
import type { SlotTiming } from './slot-timing.js'

const FILE = /^request-ledger-.*\.ndjson(?:\.new)?$/

/** The largest that the settings take: with these a request counts longest. */
const LONGEST: SlotTiming = { perMs: 3_600_000, requestTimeoutMs: 600_000 }

/** What the unowned ledgers of a directory hold. `nowMs` is the wall clock. Throws what the file system throws. */
export const readUnownedLedgers = (directory: string, nowMs: number): readonly LedgerRecord[] =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && FILE.test(entry.name))
    .flatMap(({ name }) => readOne(join(directory, name), nowMs))

const readOne = (path: string, nowMs: number): readonly LedgerRecord[] => {
  const { mtimeMs } = statSync(path)
  // Nothing in it happened after it was last written to: a damaged line, or a time ahead of that, does not count anew with every run.
  const asOfMs = Math.min(nowMs, mtimeMs + UNSEEN_STEP_MS)
  if (mtimeMs > nowMs) utimesSync(path, nowMs / 1_000, nowMs / 1_000)
  const records = readLedger(readFileSync(path, 'latin1'), asOfMs)
  if (records.every((record) => heldUntilMs(record, LONGEST, nowMs) <= nowMs)) rmSync(path)
  return records
}
