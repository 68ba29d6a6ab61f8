/** Turns an error into the text on stderr and the document of `--json`. */
import { EXIT_CODES, ExpectedError, messageOf } from '../base/errors.js'
import { explained } from '../base/explained.js'
import { readableStack } from '../base/stack.js'

/** `text` is for stderr, without a line break at its end: the message of an expected error, the whole stack of a bug. */
export const reportError = (thrown: unknown) => {
  const error = explained(thrown)
  const message = messageOf(error)
  const isExpected = error instanceof ExpectedError
  const { code, exitCode } = isExpected ? error : { code: 'bug', exitCode: EXIT_CODES.bug }
  const stack = error instanceof Error ? readableStack(error.stack ?? message) : message
  const text = isExpected ? message : `this is a bug in fieldwork-sync, please report it: ${stack}`
  const json = { error: { code, message, exit_code: exitCode } }
  return { exitCode, text: `fieldwork-sync: ${text}`, json }
}
