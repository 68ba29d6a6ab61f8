/** What every command is handed: where to print, when to stop, what to hide, how to say how it ended. */
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
  /** From now on these appear in nothing that is printed, errors included. */
  protect(secrets: readonly Secret[]): void
}

/** What the work of a command is handed. */
export interface Work {
  readonly settings: Settings
  readonly log: Log
  readonly signal: AbortSignal
}
