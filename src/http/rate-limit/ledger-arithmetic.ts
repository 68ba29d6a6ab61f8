/**
 * Which slots the runs before still occupy, worked out from the text of the ledger. Everything that is in doubt
 * counts against us: a send without an answer may have been in flight, a line that cannot be read may have been
 * a send just now, and a time that lies in the future, after the clock was put back, means now.
 *
 * One thing cannot be told from the text: a clock that was put forward between two runs makes the ledger look
 * older than it is. So everything is taken to be a second younger, which is more than time services step a clock by
 * without need, and costs a restart within the window a second. A clock put forward by more frees slots too early by the rest.
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

/** By how much the wall clock may have been put forward unseen: since the last line of a run, or before the next one began. */
export const UNSEEN_STEP_MS = 1_000

/** Shorter than any line that is ever written: what a damaged stretch may have held. */
const LINE_LENGTH_MIN = 36

export const ledgerLine = (id: number, event: LedgerEvent, atMs: number): string =>
  `${JSON.stringify({ id, at: Math.floor(atMs), event })}\n`

/** The lines that say the same as `records`. */
export const ledgerText = (records: Iterable<LedgerRecord>): string =>
  Array.from(records, ({ id, sentAtMs, end }) =>
    [ledgerLine(id, 'send', sentAtMs), end === null ? '' : ledgerLine(id, end.kind, end.atMs)].join(''),
  ).join('')

/**
 * Reads the ledger of the runs before, in any state of repair. `nowMs` is the wall clock. The records are numbered anew from 1: a number in a
 * damaged file may be so large that no other comes after it.
 */
export const readLedger = (text: string, nowMs: number): readonly LedgerRecord[] => {
  const requests: Request[] = []
  const latest = new Map<number, Request>()
  for (const line of text.split('\n')) {
    if (line === '') continue
    const entry = parseLine(line)
    if (entry !== null) apply({ requests, latest }, entry, nowMs)
    else requests.push(...doubtful(Math.ceil(line.length / LINE_LENGTH_MIN), nowMs))
  }
  return requests
    .filter(({ unsent }) => !unsent)
    .map(({ sentAtMs, end }, index) => ({ id: index + 1, sentAtMs, end }))
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

interface Request {
  readonly sentAtMs: number
  end: LedgerRecord['end']
  unsent: boolean
}

interface Reading {
  readonly requests: Request[]
  /** By their number in the file: the last of each. */
  readonly latest: Map<number, Request>
}

const doubtful = (count: number, nowMs: number): Request[] =>
  Array.from({ length: count }, () => ({
    sentAtMs: nowMs,
    end: { kind: 'answer', atMs: nowMs },
    unsent: false,
  }))

/** An outcome belongs to the last send of its number; where that has one already, or is damaged, to a send of its own. */
const apply = ({ requests, latest }: Reading, { id, at, event }: LedgerEntry, nowMs: number): void => {
  const atMs = Math.min(at + UNSEEN_STEP_MS, nowMs)
  const open = latest.get(id)
  const isOpen = open !== undefined && open.end === null && !open.unsent
  if (event === 'unsent') {
    if (isOpen) open.unsent = true
  } else if (event !== 'send' && isOpen) {
    open.end = { kind: event, atMs }
  } else {
    const request = { sentAtMs: atMs, end: event === 'send' ? null : { kind: event, atMs }, unsent: false }
    requests.push(request)
    latest.set(id, request)
  }
}
