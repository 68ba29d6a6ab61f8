/**
 * One life of the process under simulation. An async context separates its work, from its start to its end or crash, from
 * the work of the simulation itself. After a crash none of its work continues.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'

/** Thrown from a synchronous call of a dead process. No result depends on it. */
export class CrashedError extends Error {}

/** A moment in the life of a process: its nth step, the nth step of that name, or a time after its start. */
export type Moment =
  | { readonly step: number }
  | { readonly operation: string; readonly nth: number }
  | { readonly afterMs: number }

/** When the process is killed: at a time, before a step, after it, or in the middle of a write. */
export interface CrashPlan {
  readonly at: Moment
  readonly place: 'before' | 'after' | 'torn'
}

/** Operations that fail: the first ones from step `from` on whose name is among `operations`. */
export interface DiskPlan {
  readonly from: number
  readonly operations: readonly string[]
  readonly code: 'ENOSPC' | 'EIO'
  /** How many of these operations fail in a row. */
  readonly times: number
}

export type Verdict = 'go' | 'crash_before' | 'crash_after' | 'crash_torn' | 'dead' | Error

/** What disturbs a process besides the network. */
export interface Disturbances {
  readonly crash: CrashPlan | null
  readonly disk: DiskPlan | null
  /** Virtual milliseconds that a commit takes. Surveys that arrive meanwhile are committed together. */
  readonly commitMs: number
  /** Whether another process has the published file open for writing. */
  readonly isHeld: boolean
}

export class Generation {
  dead = false
  steps = 0
  readonly #stepsNamed = new Map<string, number>()
  readonly #watches: { readonly at: Moment; readonly act: () => void }[] = []
  failed: string[] = []
  readonly #crash: CrashPlan | null
  readonly died: Promise<'crashed'>
  readonly #disk: DiskPlan | null
  #diskLeft: number
  #resolveDied: (value: 'crashed') => void = () => undefined
  readonly #digest = createHash('sha256')
  /** The descriptors of its open files, which the simulation closes when it dies. */
  readonly descriptors = new Set<number>()
  /** Functions that close its open handles. */
  readonly handles = new Set<() => Promise<void>>()
  /** Functions that close its databases. */
  readonly closers: (() => void)[] = []
  /** The bytes of the write-ahead log before the torn commit; null when no commit was torn. */
  tornLogFrom: number | null = null
  lastStep = ''

  readonly commitMs: number
  readonly isHeld: boolean

  constructor({ crash, disk, commitMs, isHeld }: Disturbances) {
    this.commitMs = commitMs
    this.isHeld = isHeld
    this.#crash = crash
    this.#disk = disk
    this.#diskLeft = disk?.times ?? 0
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
    if (this.#crash !== null && this.#isNow(this.#crash.at, name)) return `crash_${this.#crash.place}`
    const disk = this.#disk
    if (disk !== null && this.#diskLeft > 0 && this.steps >= disk.from && disk.operations.includes(name)) {
      this.#diskLeft -= 1
      this.failed.push(this.lastStep)
      return diskError(disk.code, name)
    }
    return 'go'
  }

  /** Whether the step that was just counted is at that moment. */
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

export const generations = new AsyncLocalStorage<Generation>()

const diskError = (code: 'ENOSPC' | 'EIO', name: string): Error => {
  const words = code === 'ENOSPC' ? 'No space left on device' : 'Input/output error'
  if (name === 'COMMIT') return new Error(`TransactionContext Error: Failed to commit: ${words}`)
  if (name === 'CHECKPOINT') return new Error(`IO Error: Could not write file: ${words}`)
  const message = code === 'ENOSPC' ? 'no space left on device' : 'i/o error'
  const syscall = name.replace(/^.*\.|Sync$/g, '')
  return Object.assign(new Error(`${code}: ${message}, ${syscall}`), { code, syscall })
}
