/** The port `SurveySource` over HTTP. All requests of a run start here. */
import type { Clock } from '../base/clock.js'
import type { HttpClient } from '../http/client.js'
import type { SurveySource } from '../model/survey-source.js'
import { listSampleSources } from './list-sample-sources.js'
import { listSurveys } from './list-surveys.js'
import { readProgress } from './read-progress.js'

/**
 * `clock` dates the answers of a server that sends no `Date`; `attemptsMax` is that of `http`. The caller closes `http`.
 */
export const createSurveySource = (http: HttpClient, clock: Clock, attemptsMax: number): SurveySource => {
  const connection = Object.freeze({ http, clock, attemptsMax })
  return Object.freeze<SurveySource>({
    listSurveys: (query, context) => listSurveys(connection, query, context),
    listSampleSources: (surveyId, page, context) => listSampleSources(connection, surveyId, page, context),
    readSurveyProgress: (surveyId, context) => readProgress(connection, surveyId, null, context),
    readSampleSourceProgress: (surveyId, sampleSourceId, context) =>
      readProgress(connection, surveyId, sampleSourceId, context),
    readDayProgress: (surveyId, sampleSourceId, window, context) =>
      readProgress(connection, surveyId, sampleSourceId, context, window),
    usage: () => http.usage(),
  })
}
