/** An answer of the API without usable rows or without a usable next page. */
import { UpstreamError } from '../base/errors.js'

/**
 * A 200 whose envelope differs from the API document. Nothing of it is used: rows of a page with an unknown place in
 * the list could hide missing rows. The run continues with other requests.
 */
export class UnusableAnswerError extends UpstreamError {
  readonly code = 'unusable_answer'
  readonly endsRun = false

  /** `where` names endpoint and page, `problem` says what is wrong with the answer. */
  constructor(where: string, problem: string) {
    super(
      `the answer to ${where} cannot be used: ${problem}; if base_url is right, report this to the owner of the API`,
    )
  }
}
