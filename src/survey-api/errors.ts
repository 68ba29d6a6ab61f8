/** An answer of the API in which the rows, or the way to the next page, cannot be found. */
import { UpstreamError } from '../base/errors.js'

/**
 * A 200 whose envelope is not the one of the API document. Nothing of it is used: rows of a page whose place in
 * the list is unknown could hide that others are missing. The run goes on with something else.
 */
export class UnusableAnswerError extends UpstreamError {
  readonly code = 'unusable_answer'
  readonly endsRun = false

  /** `where` names endpoint and page, `problem` what was wrong with the answer. */
  constructor(where: string, problem: string) {
    super(`the answer to ${where} cannot be used: ${problem}; if base_url is right, tell the API's owner`)
  }
}
