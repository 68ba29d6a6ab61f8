/** `refresh.daily_windows` is off by default. Its days are in the time zone of all days. */
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
  const all = { days: 14, sources: true }
  const inParis = { time_zone: 'Europe/Paris', refresh: { daily_windows: all } }
  expect(await windows(JSON.stringify(inParis))).toEqual({ ...all, time_zone: 'Europe/Paris' })
})

test.each([
  ['{days: 0}', '.days must be a whole number from 1 to 60, not 0'],
  ['{time_zone: UTC}', '.time_zone is not a setting'],
  ['true', ' must be a section with keys such as days and sources, one per line'],
])('%s is reported with its line', async (value, problem) => {
  expect(await problemsOf({ yaml: `refresh:\n  daily_windows: ${value}\n`, env: ACCOUNT_ENV })).toEqual([
    expect.stringContaining(`:2: refresh.daily_windows${problem}`),
  ])
})

test.each(['Europe/Pariss', '"+01:00"'])('%s is no time zone', async (zone) => {
  expect(await problemsOf({ yaml: `time_zone: ${zone}\n`, env: ACCOUNT_ENV })).toEqual([
    expect.stringContaining(
      `:1: time_zone must be the name of a time zone, such as Europe/Paris or UTC, not "${zone.replaceAll('"', '')}"`,
    ),
  ])
})
