/**
 * Ledgers of earlier versions, which are named after an account instead of address and identifier. The account may have been renamed,
 * so their cap is unknown: each counts for every client of the directory until its last window has ended. They are only read, and
 * removed when they can no longer count under any setting.
 */
import { readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { heldUntilMs, type LedgerRecord, readLedger, UNSEEN_STEP_MS } from './ledger-arithmetic.js'
import type { SlotTiming } from './slot-timing.js'

const FILE = /^request-ledger-.*\.ndjson(?:\.new)?$/

/** The largest values of the settings: with these a request counts longest. */
const LONGEST: SlotTiming = { perMs: 3_600_000, requestTimeoutMs: 600_000 }

/** The records of the unowned ledgers of a directory. `nowMs` is the wall clock. Throws errors of the file system. */
export const readUnownedLedgers = (directory: string, nowMs: number): readonly LedgerRecord[] =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && FILE.test(entry.name))
    .flatMap(({ name }) => readOne(join(directory, name), nowMs))

const readOne = (path: string, nowMs: number): readonly LedgerRecord[] => {
  const { mtimeMs } = statSync(path)
  // No record is newer than the last write to the file, so a damaged line or a future time does not count again in every run.
  const asOfMs = Math.min(nowMs, mtimeMs + UNSEEN_STEP_MS)
  if (mtimeMs > nowMs) utimesSync(path, nowMs / 1_000, nowMs / 1_000)
  const records = readLedger(readFileSync(path, 'latin1'), asOfMs)
  if (records.every((record) => heldUntilMs(record, LONGEST, nowMs) <= nowMs)) rmSync(path)
  return records
}
