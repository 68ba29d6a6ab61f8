/** The UTC days for which progress is known. The last observation of a day stands for it. */
import { utcDay } from '../history/utc-day.js'

/**
 * Adds `first_day` and `last_day` to the rows of a step function. A row that was replaced on its first day has no day: its `last_day`
 * is the day before.
 */
export const withKnownDays = (periods: string, key: readonly string[]): string =>
  `SELECT *, least(greatest(known_day, first_day), next_day - 1) AS last_day
      FROM (SELECT *, ${utcDay('observed_at')} AS first_day,
          lead(${utcDay('observed_at')}) OVER (PARTITION BY ${key.join(', ')} ORDER BY observed_at ASC) AS next_day,
          ${utcDay('confirmed_until')} - CAST(ended_at IS NOT NULL AND epoch_us(confirmed_until) % 86400000000 = 0 AS INTEGER) AS known_day
        FROM ${periods})`
