/**
 * The requests that a restart within the window must not forget: a file with a line before each send and a line after its outcome. A line
 * is one `write` on an open descriptor, so it survives SIGKILL. There is no fsync: a machine that lost its power takes longer than a window
 * to start. The file is rewritten without old records at each start and when it has grown. Only the process that holds the lock of the
 * warehouse uses the file.
 */
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type CapOwner, capFileName } from '../../base/cap-owner.js'
import type { Clock } from '../../base/clock.js'
import { hasCode } from '../../base/errors.js'
import { UNBLOCKED } from '../../base/text-file.js'
import { ledgerError } from '../errors.js'
import {
  heldUntilMs,
  type LedgerEvent,
  type LedgerRecord,
  ledgerLine,
  ledgerText,
  occupiedMs,
  parseLine,
  readLedger,
} from './ledger-arithmetic.js'
import type { SlotTiming } from './slot-timing.js'

interface LedgerOptions {
  readonly directory: string
  readonly owner: CapOwner
  readonly timing: SlotTiming
  readonly clock: Clock
}

/** The file is rewritten after this many lines, or after four times the lines that still count, whichever is more. */
const LINES_MAX = 4_000
/** No ledger of ours is larger. Only the end of a larger file is read. */
const READ_BYTES_MAX = 4 * 1024 * 1024
/**
 * If the wall clock moved by more than this against the monotonic clock, it was stepped, and the times in the file move with it. Slewing
 * takes at least a window to reach this. `UNSEEN_STEP_MS` covers smaller steps at a restart.
 */
const CLOCK_STEP_MS = 50

export const ledgerFileName = (owner: CapOwner): string => capFileName('sent-requests', owner, 'ndjson')

/** The constructor and every method throw `ledger_unwritable` if the file cannot be read or written. */
export class Ledger {
  readonly #options: LedgerOptions
  readonly #path: string
  readonly #records: Map<number, LedgerRecord>
  #file: number | null = null
  #nextId: number
  #lines = 0
  #linesMax = LINES_MAX
  /** Wall clock minus monotonic clock when the times in the file were right. */
  #offsetMs: number
  /** Whether the last line may be incomplete. */
  #torn = false

  constructor(options: LedgerOptions) {
    this.#options = options
    this.#path = join(options.directory, ledgerFileName(options.owner))
    this.#offsetMs = options.clock.nowMs() - options.clock.monotonicMs()
    const nowMs = options.clock.nowMs()
    const text = attempt(this.#path, 'read', () => {
      mkdirSync(options.directory, { recursive: true })
      sweep(this.#path)
      return readEnd(this.#path)
    })
    this.#records = readLedger(text, nowMs)
    this.#nextId = ([...this.#records.keys()].at(-1) ?? 0) + 1
    this.#rewrite()
  }

  /** How long the slots of earlier runs stay occupied from now on, milliseconds, at most `cap` slots. */
  occupiedMs(cap: number): readonly number[] {
    const { timing, clock } = this.#options
    return occupiedMs(this.#records.values(), timing, clock.nowMs(), cap)
  }

  /** Writes that a request is about to be sent; returns its number. */
  send(): number {
    this.#followClock()
    if (this.#lines >= this.#linesMax) this.#rewrite()
    const id = this.#nextId
    this.#nextId += 1
    const sentAtMs = this.#options.clock.nowMs()
    this.#append(ledgerLine(id, 'send', sentAtMs))
    this.#records.set(id, { id, sentAtMs, end: null })
    return id
  }

  end(id: number, event: Exclude<LedgerEvent, 'send'>): void {
    this.#followClock()
    const record = this.#records.get(id)
    if (record === undefined) return
    const atMs = this.#options.clock.nowMs()
    this.#append(ledgerLine(id, event, atMs))
    if (event === 'unsent') this.#records.delete(id)
    else this.#records.set(id, { ...record, end: { kind: event, atMs } })
  }

  close(): void {
    if (this.#file === null) return
    closeSync(this.#file)
    this.#file = null
  }

  #append(line: string): void {
    attempt(this.#path, 'written', () => {
      if (this.#file === null) throw new Error('it is closed')
      const text = this.#torn ? `\n${line}` : line
      this.#torn = true
      const written = writeSync(this.#file, text)
      if (written < Buffer.byteLength(text)) throw new Error('no space left')
      this.#torn = false
      this.#lines += 1
    })
  }

  /** Rewrites the file with the records that still count. The old file stays unchanged until the rename. */
  #rewrite(): void {
    const nowMs = this.#options.clock.nowMs()
    for (const [id, record] of this.#records) {
      if (heldUntilMs(record, this.#options.timing, nowMs) <= nowMs) this.#records.delete(id)
    }
    replaceText(this.#path, ledgerText(this.#records.values()))
    this.close()
    this.#file = attempt(this.#path, 'written', () => openSync(this.#path, 'a'))
    this.#torn = false
    this.#lines = 2 * this.#records.size
    this.#linesMax = Math.max(LINES_MAX, 4 * this.#lines)
  }

  /** Moves all times by a step of the wall clock, after which older lines would look too old or too young. */
  #followClock(): void {
    const stepMs = this.#clockStepMs()
    if (Math.abs(stepMs) < CLOCK_STEP_MS) return
    for (const [id, { sentAtMs, end }] of this.#records) {
      const moved = end === null ? null : { kind: end.kind, atMs: end.atMs + stepMs }
      this.#records.set(id, { id, sentAtMs: sentAtMs + stepMs, end: moved })
    }
    this.#offsetMs += stepMs
    this.#rewrite()
  }

  /**
   * The smallest step of the wall clock that explains both clocks, milliseconds. A pause of the process between the readings of the two
   * clocks is no step.
   */
  #clockStepMs(): number {
    const { clock } = this.#options
    const beforeMs = clock.monotonicMs()
    const wallMs = clock.nowMs()
    const afterMs = clock.monotonicMs()
    const leastMs = wallMs - afterMs - this.#offsetMs
    const mostMs = wallMs - beforeMs - this.#offsetMs
    return leastMs > 0 ? leastMs : Math.min(mostMs, 0)
  }
}

/** Throws an error `ledger_unwritable`. */
const attempt = <Value>(path: string, what: 'read' | 'written', work: () => Value): Value => {
  try {
    return work()
  } catch (cause) {
    throw ledgerError(path, what, cause)
  }
}

/** The end of a file, one character per byte: the length of a damaged stretch in bytes limits its lines. Empty without a file. */
const readEnd = (path: string): string => {
  let file: number
  try {
    file = openSync(path, UNBLOCKED)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return ''
    throw error
  }
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new Error('it is not a file')
    const { size } = stats
    const bytes = Buffer.alloc(Math.min(size, READ_BYTES_MAX))
    const read = readSync(file, bytes, 0, bytes.length, Math.max(0, size - READ_BYTES_MAX))
    return bytes.toString('latin1', 0, read)
  } finally {
    closeSync(file)
  }
}

// For a run on another machine: the text of a ledger, moved to the machine's clock, and a ledger that assumes the worst.

export const isLedgerName = (name: string): boolean => /^sent-requests-[a-z0-9._-]+\.ndjson$/.test(name)

/** The file names of the ledgers in a directory. Throws an error `ledger_unwritable`. */
export const ledgerNames = (directory: string): readonly string[] =>
  attempt(directory, 'read', () => readdirSync(directory).filter(isLedgerName))

/** Empty if there is no ledger of this name. Throws an error `ledger_unwritable`. */
export const readLedgerText = (directory: string, name: string): string => {
  const path = join(directory, name)
  return attempt(path, 'read', () => readEnd(path))
}

/** No process may have the ledger open. Throws an error `ledger_unwritable`. */
export const replaceLedgerText = (directory: string, name: string, text: string): void =>
  replaceText(join(directory, name), text)

const NEW = '.new'

/** Removes the temporary files that a kill between the two steps of `replaceText` left. */
const sweep = (path: string): void => {
  const directory = dirname(path)
  for (const name of readdirSync(directory))
    if (name.startsWith(`${basename(path)}.`) && name.endsWith(NEW))
      rmSync(join(directory, name), { force: true })
}

/** A kill or a full disk leaves the old ledger or the new one. Throws an error `ledger_unwritable`. */
const replaceText = (path: string, text: string): void =>
  attempt(path, 'written', () => {
    const temporary = `${path}.${randomUUID()}${NEW}`
    try {
      writeFileSync(temporary, text, { encoding: 'latin1', flag: 'wx', mode: 0o600 })
      renameSync(temporary, path)
    } catch (error) {
      rmSync(temporary, { force: true })
      throw error
    }
  })

/** Moves all times by `byMs`. Unreadable lines stay, because they count as requests of this moment. */
export const movedLedgerText = (text: string, byMs: number): string =>
  text
    .split('\n')
    .map((line) => {
      const entry = parseLine(line)
      return entry === null ? line : ledgerLine(entry.id, entry.event, Math.max(0, entry.at + byMs)).trimEnd()
    })
    .join('\n')

/**
 * The ledger of a run that sent `requests` requests and lost their answers at `nowMs`. The run after the next one does not wait for these
 * requests again.
 */
export const fullLedgerText = (requests: number, nowMs: number): string =>
  Array.from({ length: requests }, (_, index) =>
    [ledgerLine(index + 1, 'send', nowMs), ledgerLine(index + 1, 'loss', nowMs)].join(''),
  ).join('')
