/**
 * One life of the process under simulation. An async context separates its work, from its start to its end or crash, from
 * the work of the simulation itself. After a crash none of its work continues.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'

/** Thrown from a synchronous call of a dead process. */
export class CrashedError extends Error {}

/** A moment in the life of a process: its nth step, the nth step of that name, or a time after its start. */
export type Moment =
  | { readonly step: number }
  | { readonly operation: string; readonly nth: number }
  | { readonly afterMs: number }

interface CrashPlan {
  readonly at: Moment
  readonly place: 'before' | 'after' | 'torn'
}

/** Operations that fail: the first ones from a step on whose name is among `operations`. */
export interface DiskPlan {
  readonly from: Exclude<Moment, { readonly afterMs: number }>
  readonly operations: readonly string[]
  readonly code: keyof typeof DISK_WORDS
  /** How many of these operations fail in a row. */
  readonly times: number
}

type Verdict = 'go' | 'crash_before' | 'crash_after' | 'crash_torn' | 'dead' | Error

/** What disturbs a process besides the network. */
export interface Disturbances {
  readonly crash: CrashPlan | null
  readonly disk: DiskPlan | null
  /** Virtual milliseconds that a commit takes. Surveys that arrive meanwhile are committed together. */
  readonly commitMs: number
  /** Whether another process has the published file open for writing. */
  readonly isHeld: boolean
}

export const UNDISTURBED: Disturbances = { crash: null, disk: null, commitMs: 0, isHeld: false }

export class Generation {
  dead = false
  steps = 0
  readonly #stepsNamed = new Map<string, number>()
  readonly #watches: { readonly at: Moment; readonly act: () => void }[] = []
  failed: string[] = []
  readonly plan: Disturbances
  readonly died: Promise<'crashed'>
  #diskLeft: number
  #isDiskFailing = false
  #resolveDied: (value: 'crashed') => void = () => undefined
  readonly #digest = createHash('sha256')
  /** What the simulation closes when it dies: descriptors of files, and functions that close its handles and its databases. */
  readonly descriptors = new Set<number>()
  readonly handles = new Set<() => Promise<void>>()
  readonly closers: (() => void)[] = []
  /** The write-ahead log of its work database; null for a process that no plan tears. */
  readonly logFile: string | null
  /** The bytes of that log before the torn commit; null when no commit was torn. */
  tornLogFrom: number | null = null
  lastStep = ''

  constructor(plan: Disturbances, logFile: string | null = null) {
    this.plan = plan
    this.logFile = logFile
    this.#diskLeft = plan.disk?.times ?? 0
    this.died = new Promise((resolve) => {
      this.#resolveDied = resolve
    })
  }

  note(text: string): void {
    if (process.env.SIMULATION_TRACE !== undefined) process.stderr.write(`${text}\n`)
    this.#digest.update(`${text}\n`)
  }

  digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 16)
  }

  /** Calls `act` right before the step at that moment. It ignores moments that are times. */
  watch(at: Moment, act: () => void): void {
    this.#watches.push({ at, act })
  }

  step(name: string, detail: string): Verdict {
    if (this.dead) return 'dead'
    this.steps += 1
    this.#stepsNamed.set(name, (this.#stepsNamed.get(name) ?? 0) + 1)
    this.note(`${this.steps} ${name}`)
    this.lastStep = `${this.steps} ${name} ${detail}`
    for (const { at, act } of this.#watches) if (this.#isNow(at, name)) act()
    const { crash, disk } = this.plan
    if (crash !== null && this.#isNow(crash.at, name)) return `crash_${crash.place}`
    if (disk !== null && this.#isNow(disk.from, name)) this.#isDiskFailing = true
    if (disk !== null && this.#diskLeft > 0 && this.#isDiskFailing && disk.operations.includes(name)) {
      this.#diskLeft -= 1
      this.failed.push(this.lastStep)
      return diskError(disk.code, name)
    }
    return 'go'
  }

  #isNow(at: Moment, name: string): boolean {
    if ('step' in at) return at.step === this.steps
    return 'operation' in at && at.operation === name && at.nth === this.#stepsNamed.get(name)
  }

  die(): void {
    if (this.dead) return
    this.dead = true
    this.#resolveDied('crashed')
  }
}

/** What a dead process waits for. */
export const never = <Value>(): Promise<Value> => new Promise<Value>(() => undefined)

export const generations = new AsyncLocalStorage<Generation>()

/** What DuckDB and Node say of each. */
const DISK_WORDS = {
  ENOSPC: { words: 'No space left on device', message: 'no space left on device' },
  EIO: { words: 'Input/output error', message: 'i/o error' },
  EROFS: { words: 'Read-only file system', message: 'read-only file system' },
} as const

const diskError = (code: keyof typeof DISK_WORDS, name: string): Error => {
  const { words, message } = DISK_WORDS[code]
  if (name === 'COMMIT') return new Error(`TransactionContext Error: Failed to commit: ${words}`)
  if (name === 'CHECKPOINT') return new Error(`IO Error: Could not write file: ${words}`)
  const syscall = name.replace(/^.*\.|Sync$/g, '')
  return Object.assign(new Error(`${code}: ${message}, ${syscall}`), { code, syscall })
}
