/** Reads single days of a survey's fieldwork, if the settings say so. `rules/daily-windows` decides which days. */

import type { RequestContext, SurveySource } from '../../model/survey-source.js'
import type { ReadDays } from '../../model/warehouse.js'
import type { DaysToRead, SeriesDay } from '../../rules/daily-windows.js'
import { someAtOnce } from './at-once.js'
import type { Readings } from './readings.js'

interface ReadDaysOptions {
  readonly source: SurveySource
  readonly surveyId: number
  readonly contextOf: () => RequestContext
  readonly toRead: DaysToRead
  readonly readings: Readings
  /** The reading of a source; null if it failed. */
  readonly readOfSource: <Result>(id: number, reading: Promise<Result>) => Promise<Result | null>
}

/** Throws the errors of the source and of `readOfSource`. A day that fails is left out. */
export const readDays = async ({
  source,
  surveyId,
  contextOf,
  toRead,
  readings,
  readOfSource,
}: ReadDaysOptions): Promise<ReadDays> => {
  const answers = await someAtOnce(toRead.days, async ({ sampleSourceId, day }) => {
    const reading = source.readDayProgress(surveyId, sampleSourceId, day, contextOf())
    return {
      sampleSourceId,
      day,
      reading: await (sampleSourceId === null
        ? readings.passOver('daily_progress', reading)
        : readOfSource(sampleSourceId, reading)),
    }
  })
  const rows = answers.flatMap(({ sampleSourceId, day, reading }) =>
    reading === null || reading.row === null
      ? []
      : [{ sampleSourceId, day, progress: reading.row, at: reading.readAt }],
  )
  const unread = answers.filter(({ reading }) => reading === null || reading.row === null)
  const isSurvey = ({ sampleSourceId }: SeriesDay): boolean => sampleSourceId === null
  return {
    read: unread.some(isSurvey) ? 'some' : toRead.ofSurvey,
    sourcesRead: unread.every(isSurvey) ? toRead.ofSources : 'some',
    timeZone: toRead.timeZone,
    rows,
  }
}
