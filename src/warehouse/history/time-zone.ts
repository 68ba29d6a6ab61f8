/**
 * The time zone of all days (setting `time_zone`). It is stored with the data, so that views show the same days wherever they run. If
 * another time zone is set, the days of all stored readings are computed again.
 */
import { z } from 'zod'
import { DAY_MS } from '../../base/durations.js'
import { type Calendar, createCalendar } from '../../model/calendar.js'
import { instantFromMs } from '../../model/instant.js'
import { clockChanges } from '../../model/sync-tables.js'
import { sampleSourceProgressHistory, surveyProgressHistory } from '../../model/tables.js'
import { varcharCell } from '../connection/cells.js'
import type { Database, Sql } from '../connection/database.js'
import { qualified, quote } from '../connection/ddl.js'
import { clockAt, fieldworkDayOf, HALF_DAY_US, localDay } from './days.js'

/** No reading is older. */
const CHANGES_FROM_MS = Date.UTC(2015, 0, 1)
/** Changes of the clocks are known for the next year. */
const CHANGES_AHEAD_MS = 366 * DAY_MS

/**
 * Stores the time zone for the runs that follow; null keeps the stored one. `nowMs`: the wall clock. Returns the time zone that it
 * replaces, if there is one.
 */
export const storeTimeZone = (
  database: Database,
  newTimeZone: string | null,
  nowMs: number,
): Promise<string | null> =>
  database.transaction(async (sql) => {
    const stored = await storedTimeZone(sql)
    const timeZone = newTimeZone ?? stored ?? 'UTC'
    const changes = createCalendar(timeZone).changes(CHANGES_FROM_MS, nowMs + CHANGES_AHEAD_MS)
    await sql.run(`DELETE FROM ${qualified(clockChanges)}`)
    await sql.insert(
      clockChanges,
      changes.map(({ atMs, aheadMs }, index) => ({
        time_zone: timeZone,
        since: index === 0 ? 0n : instantFromMs(atMs),
        ahead_us: 1_000 * aheadMs,
      })),
    )
    if (stored === timeZone) return null
    await recomputeDays(sql)
    return stored
  })

/** The days of the stored time zone, or of UTC in a warehouse without runs. */
export const storedCalendar = async (sql: Sql): Promise<Calendar> =>
  createCalendar((await storedTimeZone(sql)) ?? 'UTC')

const storedTimeZone = async (sql: Sql): Promise<string | null> => {
  const [row] = await sql.rows(
    z.object({ time_zone: varcharCell.nullable() }),
    `SELECT max(time_zone) AS time_zone FROM ${qualified(clockChanges)}`,
  )
  return row?.time_zone ?? null
}

/**
 * A reading that showed no change has left no row, so the reading before a row is not known exactly: it is taken to be on the last day
 * before on which any survey of the account changed.
 */
const recomputeDays = async (sql: Sql): Promise<void> => {
  for (const { schema, name, key } of [surveyProgressHistory, sampleSourceProgressHistory]) {
    const record = key
      .filter((column) => column !== 'observed_at')
      .map(quote)
      .join(', ')
    await sql.run(`CREATE OR REPLACE TEMP TABLE reading_days AS
      WITH readings AS (
        SELECT rowid AS id, ${record}, observed_at,
          least(${HALF_DAY_US}, (epoch_us(observed_at) - epoch_us(lag(observed_at) OVER (PARTITION BY ${record} ORDER BY observed_at))) // 2)
            AS half_us
        FROM ${qualified({ schema, name })}
      ),
      middles AS (
        SELECT *, make_timestamptz(epoch_us(observed_at) - coalesce(half_us, ${HALF_DAY_US})) AS middle
        FROM readings
      ),
      dated AS (
        SELECT m.*, ${localDay('m.middle')} AS "day"
        FROM middles m ${clockAt('m.middle')}
      ),
      account_days AS (
        SELECT account, "day", lag("day") OVER (PARTITION BY account ORDER BY "day") AS day_before
        FROM (SELECT DISTINCT account, "day" FROM dated)
      )
      SELECT id, "day", lag("day") OVER (PARTITION BY ${record} ORDER BY observed_at) AS own_day_before,
        CASE WHEN own_day_before IS NOT NULL THEN greatest(day_before, own_day_before) END AS day_before
      FROM dated
      JOIN account_days USING (account, "day")`)
    await sql.run(`UPDATE ${qualified({ schema, name })} h SET "day" = d."day", day_before = d.day_before
      FROM temp.reading_days d WHERE d.id = h.rowid`)
    await sql.run('DROP TABLE temp.reading_days')
  }
  await sql.run(`UPDATE main.survey_progress_reconstructed h SET "day" = d."day"
    FROM (SELECT r.rowid AS id, ${fieldworkDayOf('r.as_of')} AS "day" FROM main.survey_progress_reconstructed r ${clockAt('r.as_of')}) d
    WHERE d.id = h.rowid`)
  await sql.run(`UPDATE main.freshness h SET progress_day = d."day"
    FROM (SELECT f.rowid AS id, ${fieldworkDayOf('f.refreshed_at')} AS "day" FROM main.freshness f ${clockAt('f.refreshed_at')}
      WHERE f.refreshed_at IS NOT NULL) d
    WHERE d.id = h.rowid`)
}
