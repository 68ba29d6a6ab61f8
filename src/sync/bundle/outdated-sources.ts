/** What was read of a survey's sources is not its current list: that is read again, and all that goes by it. */
import { UpstreamError } from '../../base/errors.js'
import { RefusedReadingError } from '../../model/survey-source.js'

export class OutdatedSourcesError extends UpstreamError {
  readonly code = 'sources_outdated'
  readonly endsRun = false
}

/** A listed source answered 404: it may have gone since its list was read. */
export class SourceNotFoundError extends OutdatedSourcesError {}

/** Reads something of a listed source, of which a 404 says that it has gone. */
export const ofListedSource = async <Result>(
  surveyId: number,
  sourceId: number,
  reading: Promise<Result>,
): Promise<Result> => {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof RefusedReadingError) || error.kind !== 'not_found') throw error
    throw new SourceNotFoundError(
      `source ${sourceId} of survey ${surveyId} is listed, but its progress is not found; it stays queued`,
      { cause: error },
    )
  }
}
