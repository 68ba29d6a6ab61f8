/**
 * Every answer to the requests of one bundle. A list or a bundle that is read anew drops the rows of its first reading;
 * what could not be typed in them, and what drifted, is stored all the same.
 */
import type { Answer, SurveySource } from '../../model/survey-source.js'

export interface KeptAnswers {
  /** Answers as the source that it was made of, and keeps each answer. */
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
      listSurveys: (...question) => kept(source.listSurveys(...question)),
      listSampleSources: (...question) => kept(source.listSampleSources(...question)),
      readSurveyProgress: (...question) => kept(source.readSurveyProgress(...question)),
      readSampleSourceProgress: (...question) => kept(source.readSampleSourceProgress(...question)),
      readDayProgress: (...question) => kept(source.readDayProgress(...question)),
      usage: () => source.usage(),
    },
  }
}
