/**
 * Which day of fieldwork a reading belongs to. A job at 02:00 shows the interviews of the day before, and a job at 14:00 more of the same
 * day. If every reading belongs to a day, so does every gain: to the day of the reading that first showed it.
 */
import { DAY_MS } from '../base/durations.js'
import type { Calendar } from '../model/calendar.js'
import { type Instant, minusMs } from '../model/instant.js'

/**
 * The day that holds most of the time between two readings of a survey. If more than a day lies between them, or nothing was read before,
 * it is the day that holds most of the last 24 hours, so that the days before it are those without a reading of their own.
 */
export const fieldworkDay = ({ dayOf }: Calendar, at: Instant, before: Instant | null): string => {
  const dayBefore = minusMs(at, DAY_MS)
  const since = before === null || before < dayBefore || before > at ? dayBefore : before
  return dayOf(at - (at - since) / 2n)
}

/**
 * The last day of which a reading shows most. A reading just after another one may belong to a day that has hardly begun: its gain is on
 * that day, but the day is not known yet.
 */
export const lastKnownDay = ({ dayOf }: Calendar, at: Instant): string => dayOf(minusMs(at, DAY_MS / 2))
