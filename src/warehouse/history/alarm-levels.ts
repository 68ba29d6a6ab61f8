/** The levels of the setting `alarms`. They are stored with the data, so that views raise the same alarms wherever they run. */
import { ALARMS, type AlarmLevels } from '../../model/alarms.js'
import { alarmLevels } from '../../model/sync-tables.js'
import type { Database } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'

/** Stores the levels for the views of this run and of its readers. */
export const storeAlarmLevels = (database: Database, levels: AlarmLevels): Promise<void> =>
  database.transaction(async (sql) => {
    await sql.run(`DELETE FROM ${qualified(alarmLevels)}`)
    await sql.insert(
      alarmLevels,
      ALARMS.map((alarm) => ({ alarm, level: levels[alarm] })),
    )
  })
