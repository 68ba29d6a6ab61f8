/** The context of every command: its output streams, its stop signal, the secrets to redact, and its exit code. */
import type { ExitCode } from '../base/errors.js'
import type { Log } from '../base/log.js'
import type { Secret } from '../base/secret.js'
import type { Settings } from '../settings/settings.js'

export interface Surroundings {
  /** Aborts with a `StoppedError` at the first SIGTERM or SIGINT. */
  readonly signal: AbortSignal
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: NodeJS.ProcessEnv
}

export interface CliContext extends Surroundings {
  exit(code: ExitCode): void
  /** Registers secrets to redact in the report of an error. */
  protect(secrets: readonly Secret[]): void
}

/** The input of a command after its settings are read. */
export interface Work {
  readonly settings: Settings
  readonly log: Log
  readonly signal: AbortSignal
}
