/** An error as the person at the terminal, or the program behind `--json`, gets it. */
import { EXIT_CODES, type ExitCode, ExpectedError } from '../base/errors.js'

export interface ReportedError {
  readonly exitCode: ExitCode
  /** For stderr: one line for what can be expected, the whole stack for a bug. */
  readonly text: string
  readonly json: {
    readonly error: { readonly code: string; readonly message: string; readonly exit_code: ExitCode }
  }
}

export const reportError = (error: unknown): ReportedError => {
  if (error instanceof ExpectedError)
    return reported(error.code, error.message, error.exitCode, error.message)
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const message = error instanceof Error ? error.message : String(error)
  return reported(
    'bug',
    message,
    EXIT_CODES.bug,
    `this is a bug in fieldwork-sync, please report it: ${stack}`,
  )
}

const reported = (code: string, message: string, exitCode: ExitCode, text: string): ReportedError => ({
  exitCode,
  text: `fieldwork-sync: ${text}\n`,
  json: { error: { code, message, exit_code: exitCode } },
})
