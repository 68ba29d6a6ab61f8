/**
 * Keeps every answer to the requests of one bundle. A repeated reading drops the rows of the first one. Its rejections and
 * drift events are still stored.
 */
import type { Answer, SurveySource } from '../../model/survey-source.js'

export interface KeptAnswers {
  /** Answers like the given source, and keeps each answer. */
  readonly source: SurveySource
  readonly answers: readonly Answer[]
}

export const keepAnswers = (source: SurveySource): KeptAnswers => {
  const answers: Answer[] = []
  const kept = async <Result extends Answer>(reading: Promise<Result>): Promise<Result> => {
    const answer = await reading
    answers.push(answer)
    return answer
  }
  return {
    answers,
    source: {
      listSurveys: (...args) => kept(source.listSurveys(...args)),
      listSampleSources: (...args) => kept(source.listSampleSources(...args)),
      readSurveyProgress: (...args) => kept(source.readSurveyProgress(...args)),
      readSampleSourceProgress: (...args) => kept(source.readSampleSourceProgress(...args)),
      readDayProgress: (...args) => kept(source.readDayProgress(...args)),
      usage: () => source.usage(),
    },
  }
}
