/**
 * One life of the process under simulation. Everything that it does between its start and its end, or its crash, is
 * told apart from the simulation's own doings by an async context; after a crash nothing of it goes on.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'

/** What the simulation throws from a synchronous call of a process that is dead. Nobody gets to see it. */
export class CrashedError extends Error {}

/** A moment in the life of a process: its n-th step, the n-th step of that name, or a time after its start. */
export type Moment =
  | { readonly step: number }
  | { readonly operation: string; readonly nth: number }
  | { readonly afterMs: number }

/** When the process is killed: before a step, after it, or (a write) in the middle of it; or at a time. */
export interface CrashPlan {
  readonly at: Moment
  readonly place: 'before' | 'after' | 'torn'
}

/** An operation that fails: the first from step `from` on whose name is among `operations`. */
export interface DiskPlan {
  readonly from: number
  readonly operations: readonly string[]
  readonly code: 'ENOSPC' | 'EIO'
  /** How many fail in a row, each of that kind. */
  readonly times: number
}

export type Verdict = 'go' | 'crash_before' | 'crash_after' | 'crash_torn' | 'dead' | Error

/** What befalls a process besides what the network does. */
export interface Fate {
  readonly crash: CrashPlan | null
  readonly disk: DiskPlan | null
  /** How long a commit takes, virtual milliseconds: meanwhile other surveys arrive, and are committed together. */
  readonly commitMs: number
  /** Somebody has the published file open for writing. */
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
  #tellDeath: (value: 'crashed') => void = () => undefined
  readonly #digest = createHash('sha256')
  /** Files it has open, by descriptor: closed for it when it dies. */
  readonly descriptors = new Set<number>()
  /** The same for its handles: how to close them. */
  readonly handles = new Set<() => Promise<void>>()
  /** Ends of its databases. */
  readonly closers: (() => void)[] = []
  /** How many bytes of the write-ahead log were there before the commit that was torn; null: nothing torn. */
  tornLogFrom: number | null = null
  lastStep = ''

  readonly commitMs: number
  readonly isHeld: boolean

  constructor({ crash, disk, commitMs, isHeld }: Fate) {
    this.commitMs = commitMs
    this.isHeld = isHeld
    this.#crash = crash
    this.#disk = disk
    this.#diskLeft = disk?.times ?? 0
    this.died = new Promise((resolve) => {
      this.#tellDeath = resolve
    })
  }

  note(text: string): void {
    if (process.env.SIMULATION_TRACE !== undefined) process.stderr.write(`${text}\n`)
    this.#digest.update(`${text}\n`)
  }

  digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 16)
  }

  /** Has `act` called right before the step at that moment; a time is not its business. */
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

  /** Whether the step that was just counted is the one meant. */
  #isNow(at: Moment, name: string): boolean {
    if ('step' in at) return at.step === this.steps
    return 'operation' in at && at.operation === name && at.nth === this.#stepsNamed.get(name)
  }

  die(): void {
    if (this.dead) return
    this.dead = true
    this.#tellDeath('crashed')
  }
}

export const generations = new AsyncLocalStorage<Generation>()

const diskError = (code: 'ENOSPC' | 'EIO', name: string): Error => {
  const words = code === 'ENOSPC' ? 'No space left on device' : 'Input/output error'
  if (name === 'COMMIT') return new Error(`TransactionContext Error: Failed to commit: ${words}`)
  if (name === 'CHECKPOINT') return new Error(`IO Error: Could not write file: ${words}`)
  const message = code === 'ENOSPC' ? 'no space left on device' : 'i/o error'
  return Object.assign(new Error(`${code}: ${message}, ${name}`), { code })
}
