/**
 * The days of a survey's fieldwork, a part of its bundle where the settings ask for them: which are due, and reading them.
 * They are read after the survey's whole progress, so that whatever is in the whole can be in them. Only the series that
 * are read now decide: the whole survey, and the sources that it has if the settings ask for these.
 */

import { ageMs } from '../../model/believed.js'
import { type DueDay, type DueDays, dueDays } from '../../model/daily-windows.js'
import type { Progress } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import type { DailyWindows, RefreshRules } from '../../model/run.js'
import type { Reading, RequestContext, SurveySource } from '../../model/survey-source.js'
import type { ReadDays, ReadExtent, StoredDays } from '../../model/warehouse.js'
import { someAtOnce } from './at-once.js'
import type { Refusals } from './refusals.js'

export interface DaysToRead {
  readonly timeZone: string
  readonly days: readonly SeriesDay[]
  /** How many that would be due are known to be unchanged. */
  readonly unchanged: number
  /** How many of the due days of the whole survey are in `days`. */
  readonly ofSurvey: ReadExtent
  /** The same for its sources; `some` where the settings leave them out. */
  readonly ofSources: ReadExtent
}

interface SeriesDay {
  /** Null: of the whole survey. */
  readonly sampleSourceId: number | null
  readonly day: DueDay
}

export interface DaysQuestion {
  readonly stored: StoredDays
  /** Of the whole survey. */
  readonly progress: Reading<Progress>
  /** The survey's progress and its sources equal what is stored. */
  readonly isUnchanged: boolean
  readonly sourceIds: readonly number[]
}

export const daysToRead = (rules: RefreshRules, rule: DailyWindows, question: DaysQuestion): DaysToRead => {
  const { stored, progress, sourceIds } = question
  const of = (series: readonly (number | null)[], readAt: Instant | null): Due => {
    const due = series.map((sampleSourceId) => {
      const days = stored.days.filter((row) => row.sampleSourceId === sampleSourceId)
      return { sampleSourceId, ...dueDays(rule, stored.survey, days, progress.readAt) }
    })
    const days = due.flatMap((one) => one.days.map((day) => ({ sampleSourceId: one.sampleSourceId, day })))
    if (canSkip(rules, question, readAt, due)) return { days: [], unchanged: days.length, extent: 'none' }
    return { days, unchanged: 0, extent: due.some(({ more }) => more) ? 'some' : 'all' }
  }
  const ofSurvey = of([null], stored.readAt)
  const ofSources = rule.sources ? of(sourceIds, stored.sourcesReadAt) : NOT_ASKED
  return {
    timeZone: rule.timeZone,
    days: [...ofSurvey.days, ...ofSources.days],
    unchanged: ofSurvey.unchanged + ofSources.unchanged,
    ofSurvey: ofSurvey.extent,
    ofSources: ofSources.extent,
  }
}

interface Due {
  readonly days: readonly SeriesDay[]
  readonly unchanged: number
  readonly extent: ReadExtent
}

/** Days that are not asked for are behind what is stored beside them from now on. */
const NOT_ASKED: Due = Object.freeze({ days: [], unchanged: 0, extent: 'some' })

/**
 * Whether no day of these series has to be read: nothing differs from what the days were read with at `readAt`, not too long
 * ago, and none of them was cut in another time zone. Counts that are equal as a whole could hide two changes that cancel
 * out (an interview that is ignored from now on, another that was added with the same status): as with sources,
 * `recheck_unchanged_after` bounds how long.
 */
const canSkip = (
  { skipUnchanged, recheckUnchangedAfterMs }: RefreshRules,
  { progress, isUnchanged }: DaysQuestion,
  readAt: Instant | null,
  due: readonly DueDays[],
): boolean =>
  skipUnchanged &&
  isUnchanged &&
  ageMs(readAt, progress.readAt) < recheckUnchangedAfterMs &&
  !due.some(({ recut }) => recut)

interface ReadDaysOptions {
  readonly source: SurveySource
  readonly surveyId: number
  readonly context: RequestContext
  readonly toRead: DaysToRead
  readonly refusals: Refusals
  /** What was read of a source, or null where the API refused it. */
  readonly ofSource: <Result>(id: number, reading: Promise<Result>) => Promise<Result | null>
}

/** Throws what the source and `ofSource` throw. A day that the API refuses is left out. */
export const readDays = async ({
  source,
  surveyId,
  context,
  toRead,
  refusals,
  ofSource,
}: ReadDaysOptions): Promise<ReadDays> => {
  const answers = await someAtOnce(toRead.days, async ({ sampleSourceId, day }) => {
    const reading = source.readDayProgress(surveyId, sampleSourceId, day, context)
    return {
      sampleSourceId,
      day,
      reading: await (sampleSourceId === null
        ? refusals.passOver(reading, 'day')
        : ofSource(sampleSourceId, reading)),
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
