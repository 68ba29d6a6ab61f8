/**
 * Which slots the runs before still occupy, worked out from the text of the ledger. Everything that is in doubt
 * counts against us: a send without an answer may have been in flight, a line that cannot be read may have been
 * a send just now, and a time that lies in the future, after the clock was put back, means now.
 *
 * One thing cannot be told from the text: a clock that was put forward between two runs makes the ledger look
 * older than it is.
 */
import { z } from 'zod'
import { holdAfterAnswerMs, holdAfterLossMs, type SlotTiming } from './slot-timing.js'

/** One request. Times are wall clock, milliseconds since 1970. */
export interface LedgerRecord {
  readonly id: number
  readonly sentAtMs: number
  /** Null while nothing is known of its outcome. */
  readonly end: { readonly kind: 'answer' | 'loss'; readonly atMs: number } | null
}

export type LedgerEvent = 'send' | 'answer' | 'loss' | 'unsent'

const lineSchema = z.object({
  id: z.number().int().nonnegative(),
  at: z.number().int().nonnegative(),
  event: z.enum(['send', 'answer', 'loss', 'unsent']),
})

/** Shorter than any line that is ever written: what a damaged stretch may have held. */
const LINE_LENGTH_MIN = 36

export const ledgerLine = (id: number, event: LedgerEvent, atMs: number): string =>
  `${JSON.stringify({ id, at: Math.floor(atMs), event })}\n`

/** The lines that say the same as `records`. */
export const ledgerText = (records: Iterable<LedgerRecord>): string =>
  Array.from(records, ({ id, sentAtMs, end }) =>
    [ledgerLine(id, 'send', sentAtMs), end === null ? '' : ledgerLine(id, end.kind, end.atMs)].join(''),
  ).join('')

/** Reads a ledger of any state of repair. `nowMs` is the wall clock. */
export const readLedger = (text: string, nowMs: number): readonly LedgerRecord[] => {
  const records = new Map<number, LedgerRecord>()
  let damaged = 0
  for (const line of text.split('\n')) {
    if (line === '') continue
    const entry = parseLine(line)
    if (entry === null) damaged += Math.ceil(line.length / LINE_LENGTH_MIN)
    else apply(records, entry, nowMs)
  }
  const nextId = nextIdAfter(records.values())
  const doubtful = Array.from({ length: damaged }, (_, index) => ({
    id: nextId + index,
    sentAtMs: nowMs,
    end: { kind: 'answer' as const, atMs: nowMs },
  }))
  return [...records.values(), ...doubtful]
}

/** Until when a record occupies a slot, wall clock: at most two request timeouts and a window from `nowMs`. */
export const heldUntilMs = (record: LedgerRecord, timing: SlotTiming, nowMs: number): number => {
  const sentAtMs = Math.min(record.sentAtMs, nowMs)
  if (record.end === null) {
    // Its run had a request timeout to learn the outcome, and wrote it down if it lived to see it.
    return Math.min(sentAtMs + timing.requestTimeoutMs, nowMs) + holdAfterLossMs(timing)
  }
  const endedAtMs = Math.max(sentAtMs, Math.min(record.end.atMs, nowMs))
  return endedAtMs + (record.end.kind === 'answer' ? holdAfterAnswerMs(timing) : holdAfterLossMs(timing))
}

/**
 * How long to keep each slot that is still occupied, milliseconds, at most `cap` of them. After the cap was
 * lowered there can be more: then the ones that end last count, since a new request may go as soon as fewer than
 * `cap` are left.
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

export const nextIdAfter = (records: Iterable<LedgerRecord>): number => {
  let highest = 0
  for (const { id } of records) highest = Math.max(highest, id)
  return highest + 1
}

type LedgerEntry = z.infer<typeof lineSchema>

const parseLine = (line: string): LedgerEntry | null => {
  try {
    return lineSchema.safeParse(JSON.parse(line)).data ?? null
  } catch {
    return null
  }
}

const apply = (records: Map<number, LedgerRecord>, { id, at, event }: LedgerEntry, nowMs: number): void => {
  const atMs = Math.min(at, nowMs)
  if (event === 'send') {
    records.set(id, { id, sentAtMs: atMs, end: null })
  } else if (event === 'unsent') {
    records.delete(id)
  } else {
    // The line of its send may be the damaged one.
    records.set(id, { id, sentAtMs: records.get(id)?.sentAtMs ?? atMs, end: { kind: event, atMs } })
  }
}
