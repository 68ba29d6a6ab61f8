/** The parts of every command, and its context: output streams, stop signal, the secrets to redact, and the exit code. */
import { randomBytes } from 'node:crypto'
import type { ExitCode } from '../base/errors.js'
import type { Log } from '../base/log.js'
import type { Secret } from '../base/secret.js'
import type { Print } from '../logging/stdout.js'
import type { Settings } from '../settings/settings.js'
import type { EndOfCommand } from './end-line.js'
import type { Flags, FlagsOf } from './flags.js'

/** What the example does, and its command line without the program's name. */
type Example = readonly [does: string, line: string]

/**
 * Everything that the command line needs to know about a command. This declaration loads no other part of the program, so `--help` and
 * wrong usage are answered at once. `run` reads the settings, and loads what does the work when they are valid.
 */
export interface Command<Of extends Flags = Flags> {
  readonly name: string
  readonly describe: string
  readonly examples: readonly [Example, Example]
  /** Where the settings of the command come from, if the settings file is not the answer. */
  readonly settings?: string
  readonly flags: Of
  run(context: CliContext, flags: FlagsOf<Of>): Promise<void>
}

export interface Surroundings {
  /** Aborts with a `StoppedError` at the first SIGTERM or SIGINT. */
  readonly signal: AbortSignal
  /** A function, because Node opens the stream when it is first used. */
  stdin(): NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: NodeJS.ProcessEnv
  /** Ends the process at once, by a signal, without waiting for the command. Only for a command that has nothing to clean up. */
  endNow(): void
}

export interface CliContext extends Omit<Surroundings, 'stdout'> {
  /** The properties of stdout. Only `print` writes to it. */
  readonly stdout: Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>
  /**
   * Writes to stdout, and rejects if the write fails. So a command calls `exit` before it prints its result. False if nobody reads any
   * more. Control characters are written as text; in `data`, only on a terminal.
   */
  readonly print: Print
  /** Prints sentences for people. On a terminal, their lines end between words. */
  tell(text: string): Promise<boolean>
  exit(code: ExitCode, end?: EndOfCommand): void
  /** Sets the level and the run of the command's log, which the last line of stderr follows. */
  logsAs(log: { readonly level: string; readonly runId?: string }): void
  /** Registers secrets to redact in the report of an error. */
  protect(secrets: readonly Secret[]): void
}

/** The input of a command after its settings are read. */
export interface Work {
  /** Every line of `log` has it. */
  readonly runId: string
  readonly settings: Settings
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * The id of a run: of its records, its log lines, what it publishes, and of the holder of a bucket. Ids sort by time, and are unique even
 * if two runs start in the same second.
 */
export const newRunId = (nowMs: number): string =>
  `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z-${randomBytes(3).toString('hex')}`
