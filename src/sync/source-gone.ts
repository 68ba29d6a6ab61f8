/** A source was listed, and its progress is not there. It went meanwhile: the list is read again. */
import { UpstreamError } from '../base/errors.js'
import { NotFoundError } from '../model/survey-source.js'

export class SourceGoneError extends UpstreamError {
  readonly code = 'source_gone'
  readonly endsRun = false
}

/** Reads something of a listed source, of which a 404 says that it has gone. */
export const ofListedSource = async <Result>(
  surveyId: number,
  sourceId: number,
  reading: Promise<Result>,
): Promise<Result> => {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
    throw new SourceGoneError(
      `source ${sourceId} of survey ${surveyId} is listed, but its progress is not found; it stays queued`,
      { cause: error },
    )
  }
}
