/**
 * Computes from the text of the ledger which slots earlier runs still hold. Every doubt counts against us: a send without an answer may
 * have been in flight, an unreadable line may have been a send just now, and a time in the future (the clock was put back) counts as now.
 *
 * The text does not show a clock that was put forward between two runs: the ledger then looks older than it is. So every time counts as a
 * second younger, see docs/decisions/cap.md#0019-the-ledger-stores-times-of-the-wall-clock. If the clock was put forward by more than a
 * second, slots become free too early by the rest.
 */
import { z } from 'zod'
import { parseJson } from '../../base/parse.js'
import { holdAfterAnswerMs, holdAfterLossMs, type SlotTiming } from './slot-timing.js'

/** One request. Times are wall clock, milliseconds since 1970. */
export interface LedgerRecord {
  readonly id: number
  readonly sentAtMs: number
  /** Null while its outcome is unknown. */
  readonly end: { readonly kind: 'answer' | 'loss'; readonly atMs: number } | null
}

export type LedgerEvent = 'send' | 'answer' | 'loss' | 'unsent'

const lineSchema = z.object({
  id: z.number().int().nonnegative(),
  at: z.number().int().nonnegative(),
  event: z.enum(['send', 'answer', 'loss', 'unsent']),
})

/** By how much the wall clock may have been put forward unseen, after the last line of a run or before the next one started. */
const UNSEEN_STEP_MS = 1_000

/** No line is shorter: a damaged stretch of text may have held as many lines as fit. */
const LINE_LENGTH_MIN = 36

export const ledgerLine = (id: number, event: LedgerEvent, atMs: number): string =>
  `${JSON.stringify({ id, at: Math.floor(atMs), event })}\n`

export const ledgerText = (records: Iterable<LedgerRecord>): string =>
  Array.from(records, ({ id, sentAtMs, end }) =>
    [ledgerLine(id, 'send', sentAtMs), end === null ? '' : ledgerLine(id, end.kind, end.atMs)].join(''),
  ).join('')

/**
 * Reads the ledger of earlier runs, however damaged. `nowMs` is the wall clock. The records are numbered anew from 1, because a number in a
 * damaged file may be too large for a successor. An outcome belongs to the last send with its number in the file. An outcome whose send is
 * damaged, or has an outcome already, counts as a send of its own.
 */
export const readLedger = (text: string, nowMs: number): Map<number, LedgerRecord> => {
  const records = new Map<number, LedgerRecord>()
  /** The last record with each number of the file. */
  const latest = new Map<number, number>()
  let added = 0
  const add = (sentAtMs: number, end: LedgerRecord['end']): number => {
    added += 1
    records.set(added, { id: added, sentAtMs, end })
    return added
  }
  for (const line of text.split('\n')) {
    const entry = parseLine(line)
    if (entry === null) {
      for (let nth = Math.ceil(line.length / LINE_LENGTH_MIN); nth > 0; nth -= 1)
        add(nowMs, { kind: 'answer', atMs: nowMs })
      continue
    }
    const { id, event } = entry
    const atMs = Math.min(entry.at + UNSEEN_STEP_MS, nowMs)
    const last = records.get(latest.get(id) ?? 0)
    const open = last?.end === null ? last : undefined
    if (event === 'send') latest.set(id, add(atMs, null))
    else if (event === 'unsent') records.delete(open?.id ?? 0)
    else if (open !== undefined) records.set(open.id, { ...open, end: { kind: event, atMs } })
    else latest.set(id, add(atMs, { kind: event, atMs }))
  }
  return records
}

/** Until when a record holds a slot, wall clock: at most two request timeouts and a window from `nowMs`. */
export const heldUntilMs = (record: LedgerRecord, timing: SlotTiming, nowMs: number): number => {
  const sentAtMs = Math.min(record.sentAtMs, nowMs)
  if (record.end === null) {
    // The run that sent the request waited at most one request timeout for the outcome, and wrote it unless the run was killed.
    return Math.min(sentAtMs + timing.requestTimeoutMs, nowMs) + holdAfterLossMs(timing)
  }
  const endedAtMs = Math.max(sentAtMs, Math.min(record.end.atMs, nowMs))
  return endedAtMs + (record.end.kind === 'answer' ? holdAfterAnswerMs(timing) : holdAfterLossMs(timing))
}

/**
 * How long to hold each slot that is still occupied, milliseconds, at most `cap` slots. If the cap was lowered, more slots may be occupied.
 * Then only the `cap` slots that end last count, because a new request may go as soon as fewer than `cap` are left.
 */
export const occupiedMs = (
  records: Iterable<LedgerRecord>,
  timing: SlotTiming,
  nowMs: number,
  cap: number,
): readonly number[] =>
  Array.from(records, (record) => heldUntilMs(record, timing, nowMs) - nowMs)
    .filter((leftMs) => leftMs > 0)
    .sort((a, b) => b - a)
    .slice(0, cap)

export const parseLine = (line: string) => parseJson(lineSchema, line)
