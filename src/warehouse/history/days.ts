/**
 * Days in SQL, without an extension that a reader may lack, and in any time zone of the session. `day` columns are days of fieldwork
 * (`rules/fieldwork-day.ts`), in the time zone of the settings; other moments get their day by a join with `_sync.clock_changes`.
 */

/** Joins the clocks of the time zone at a moment, for `localDay` and `fieldworkDayOf`. */
export const clockAt = (moment: string): string =>
  `ASOF LEFT JOIN _sync.clock_changes clock ON ${moment} >= clock.since`

const dayOf = (micros: string): string =>
  `CAST(make_timestamp(${micros} + coalesce(clock.ahead_us, 0)) AS DATE)`

/** The day of a moment, as a DATE. UTC if no sync has stored a time zone. */
export const localDay = (moment: string): string => dayOf(`epoch_us(${moment})`)

/** The day of fieldwork of a reading whose reading before is not known: the day that holds most of the 24 hours before. */
export const fieldworkDayOf = (moment: string): string => dayOf(`epoch_us(${moment}) - ${HALF_DAY_US}`)

export const HALF_DAY_US = 43_200_000_000

/** The moment at which a day begins in UTC. */
export const utcDayStart = (day: string): string => `to_timestamp(epoch(${day}))`

/**
 * The time `hours` before another time, as microseconds. Intervals would count in the time zone and the calendar of the session, where a
 * day may have 23 hours, or be refused.
 */
export const hoursBefore = (time: string, hours: number): string =>
  `epoch_us(${time}) - ${hours} * 3600000000`

/** `newest`: the newest reading of each account, and the day on which it was. */
export const NEWEST_STEPS = `newest_readings AS (
  SELECT account, max(greatest(listed_at, refreshed_at)) AS newest_at
  FROM main.freshness
  GROUP BY account
),
newest AS (
  SELECT n.*, ${localDay('n.newest_at')} AS today
  FROM newest_readings n
  ${clockAt('n.newest_at')}
)`
