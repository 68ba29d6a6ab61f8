/**
 * The days of a survey's fieldwork, a part of its bundle where the settings ask for them: which are due, and reading them.
 * They are read after the survey's whole progress, so that whatever is in the whole can be in them.
 */

import { type DueDay, dueDays } from '../model/daily-windows.js'
import type { Progress } from '../model/fields.js'
import { msBetween } from '../model/instant.js'
import type { DailyWindows, RefreshRules } from '../model/run.js'
import type { Drift, Reading, Rejection, RequestContext, SurveySource } from '../model/survey-source.js'
import type { ReadDays, StoredDays } from '../model/warehouse.js'
import { someAtOnce } from './at-once.js'
import { ofListedSource } from './outdated-sources.js'

export interface DaysToRead {
  readonly timeZone: string
  readonly days: readonly SeriesDay[]
  /** How many that would be due are known to be unchanged. */
  readonly unchanged: number
  /** Why not all days that are due are in `days`, if so: `unchanged`, or `more` than are read at once. */
  readonly left: 'unchanged' | 'more' | null
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
  const { timeZone } = rule
  const series = (rule.sources ? [null, ...sourceIds] : [null]).map((sampleSourceId) => {
    const days = stored.days.filter((row) => row.sampleSourceId === sampleSourceId)
    return { sampleSourceId, due: dueDays(rule, stored.survey, days, progress.readAt) }
  })
  const days = series.flatMap(({ sampleSourceId, due }) => due.days.map((day) => ({ sampleSourceId, day })))
  if (canSkipDays(rules, rule, question))
    return { timeZone, days: [], unchanged: days.length, left: 'unchanged' }
  return {
    timeZone,
    days,
    unchanged: 0,
    left: series.some(({ due }) => due.more) ? 'more' : null,
  }
}

/**
 * Whether no day has to be read: nothing differs from what the days were read with, they were cut alike, and not too long
 * ago. Counts that are equal as a whole could hide two changes that cancel out (an interview that is ignored from now
 * on, another that was added with the same status): as with sources, `recheck_unchanged_after` bounds how long.
 */
const canSkipDays = (
  { skipUnchanged, recheckUnchangedAfterMs }: RefreshRules,
  rule: DailyWindows,
  { stored, progress, isUnchanged, sourceIds }: DaysQuestion,
): boolean => {
  if (!skipUnchanged || !isUnchanged || stored.readAt === null) return false
  if (msBetween(stored.readAt, progress.readAt) >= recheckUnchangedAfterMs) return false
  if (stored.days.some(({ timeZone }) => timeZone !== rule.timeZone)) return false
  const withDays = new Set(stored.days.map(({ sampleSourceId }) => sampleSourceId))
  return !rule.sources || sourceIds.every((id) => withDays.has(id))
}

interface ReadDaysOptions {
  readonly source: SurveySource
  readonly surveyId: number
  readonly context: RequestContext
  readonly toRead: DaysToRead
}

/** Throws what the source throws, and an `OutdatedSourcesError` on a 404 of a source. */
export const readDays = async ({ source, surveyId, context, toRead }: ReadDaysOptions) => {
  const answers = await someAtOnce(toRead.days, async ({ sampleSourceId, day }) => {
    const reading = source.readDayProgress(surveyId, sampleSourceId, day, context)
    return {
      sampleSourceId,
      day,
      reading: await (sampleSourceId === null ? reading : ofListedSource(surveyId, sampleSourceId, reading)),
    }
  })
  const rows = answers.flatMap(({ sampleSourceId, day, reading: { row, readAt } }) =>
    row === null ? [] : [{ sampleSourceId, day, progress: row, at: readAt }],
  )
  const isWhole = toRead.left !== 'more' && rows.length === answers.length
  const days: ReadDays = {
    read: toRead.left === 'unchanged' ? 'none' : isWhole ? 'all' : 'some',
    timeZone: toRead.timeZone,
    rows,
  }
  const readings: readonly { readonly rejections: readonly Rejection[]; readonly drift: readonly Drift[] }[] =
    answers.map(({ reading }) => reading)
  return { days, readings }
}
