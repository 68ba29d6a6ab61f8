/** `refresh.daily_windows` is off by default. An unknown time zone is reported with its line. */
import { expect, test } from 'vitest'
import { ACCOUNT_ENV, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const windows = async (yaml: string) => (await load({ yaml, env: ACCOUNT_ENV })).refresh.daily_windows

test.each(['', 'refresh: {}', 'refresh: {daily_windows: false}'])(
  'daily windows are off with %j',
  async (yaml) => {
    expect(await windows(yaml)).toBeNull()
  },
)

test('each key of daily windows has a default', async () => {
  expect(await windows('refresh: {daily_windows: {}}')).toEqual({ days: 7, time_zone: 'UTC', sources: false })
  const all = { days: 14, time_zone: 'Europe/Paris', sources: true }
  expect(await windows(JSON.stringify({ refresh: { daily_windows: all } }))).toEqual(all)
})

const TIME_ZONE = 'time_zone must be the name of a time zone, such as Europe/Paris or UTC'

test.each([
  ['{time_zone: Europe/Pariss}', `.${TIME_ZONE}, not "Europe/Pariss"`],
  ['{time_zone: "+01:00"}', `.${TIME_ZONE}, not "+01:00"`],
  ['{days: 0}', '.days must be a whole number from 1 to 60, not 0'],
  ['{timezone: UTC}', '.timezone is not a setting; did you mean refresh.daily_windows.time_zone?'],
  ['true', ' must be a section with its own keys, one per line'],
])('%s is reported with its line', async (value, problem) => {
  expect(await problemsOf({ yaml: `refresh:\n  daily_windows: ${value}\n`, env: ACCOUNT_ENV })).toEqual([
    expect.stringContaining(`:2: refresh.daily_windows${problem}`),
  ])
})
