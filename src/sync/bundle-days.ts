/** Reads the days of a survey and of its sources. */
import type { Progress } from '../model/fields.js'
import type { Reading } from '../model/survey-source.js'
import type { ReadDays } from '../model/warehouse.js'
import type { DaysToRead, SeriesDay } from '../rules/windows.js'
import { isTyped } from './readings.js'
import { someAtOnce } from './some-at-once.js'

/** A day for which `readDay` returns null, because it failed, is left out. */
export const readDays = async (
  toRead: DaysToRead,
  readDay: (day: SeriesDay) => Promise<Reading<Progress> | null>,
): Promise<ReadDays> => {
  const answers = await someAtOnce(toRead.days, async (day) => ({ ...day, reading: await readDay(day) }))
  const unread = answers.filter(({ reading }) => !isTyped(reading))
  const isOfSurvey = ({ sampleSourceId }: SeriesDay): boolean => sampleSourceId === null
  return {
    read: unread.some(isOfSurvey) ? 'some' : toRead.ofSurvey,
    sourcesRead: unread.every(isOfSurvey) ? toRead.ofSources : 'some',
    timeZone: toRead.timeZone,
    rows: answers.flatMap(({ sampleSourceId, day, reading }) =>
      isTyped(reading) ? [{ sampleSourceId, day, progress: reading.row, at: reading.readAt }] : [],
    ),
  }
}
