/** A replay keeps the settings that readers share. */
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'

test('a replay without the settings file keeps the time zone and the alarm levels of the last sync', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const inTokyo = await trial.settings({ time_zone: 'Asia/Tokyo', alarms: { rejected: 0.9 } })
  expect(await trial.sync(inTokyo)).toMatchObject({ code: 0 })
  const shared = () =>
    trial.rows(`SELECT DISTINCT time_zone, (SELECT level FROM _sync.alarm_levels WHERE alarm = 'rejected') AS level
      FROM _sync.clock_changes`)
  expect(await shared()).toEqual([{ time_zone: 'Asia/Tokyo', level: 0.9 }])
  expect(await trial.run(['replay'])).toMatchObject({ code: 0 })
  expect(await shared()).toEqual([{ time_zone: 'Asia/Tokyo', level: 0.9 }])
  const inUtc = await trial.sync()
  expect(inUtc.stderr).toContain('the days of all readings are computed again in another time zone')
  expect(await shared()).toMatchObject([{ time_zone: 'UTC' }])
})
