/** Turns an error into the text on stderr and the document of `--json`. */
import { explained } from '../base/address-space.js'
import { EXIT_CODES, type ExitCode, ExpectedError } from '../base/errors.js'
import { readableStack } from '../base/stack.js'

export interface ReportedError {
  readonly exitCode: ExitCode
  /** For stderr, without a line break at its end: the message of an expected error, the whole stack of a bug. */
  readonly text: string
  readonly json: {
    readonly error: { readonly code: string; readonly message: string; readonly exit_code: ExitCode }
  }
}

export const reportError = (thrown: unknown): ReportedError => {
  const error = explained(thrown)
  if (error instanceof ExpectedError)
    return reported(error.code, error.message, error.exitCode, error.message)
  const stack = error instanceof Error ? readableStack(error.stack ?? error.message) : String(error)
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
  text: `fieldwork-sync: ${text}`,
  json: { error: { code, message, exit_code: exitCode } },
})
