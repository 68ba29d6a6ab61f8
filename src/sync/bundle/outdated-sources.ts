/** Errors for a list of sources that is outdated. The list and everything that depends on it are read again. */
import { UpstreamError } from '../../base/errors.js'
import { RefusedReadingError } from '../../model/survey-source.js'

export class OutdatedSourcesError extends UpstreamError {
  constructor(message: string, options?: ErrorOptions) {
    super('sources_outdated', message, options)
  }
}

/** A listed source answered 404: it may have gone since its list was read. */
export class SourceNotFoundError extends OutdatedSourcesError {}

/** Awaits a reading of a listed source. A 404 becomes a `SourceNotFoundError`. */
export const checkListedSource = async <Result>(
  surveyId: number,
  sourceId: number,
  reading: Promise<Result>,
): Promise<Result> => {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof RefusedReadingError) || error.kind !== 'not_found') throw error
    throw new SourceNotFoundError(
      `source ${sourceId} of survey ${surveyId} is listed, but its progress is not found; the survey stays queued`,
      { cause: error },
    )
  }
}
