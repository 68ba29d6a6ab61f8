/** Renamed keys of the settings file may have their old names until version 0.2. */
import { expect, test } from 'vitest'
import { ACCOUNT, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

test('old names of settings work like the new names', async () => {
  const settings = await load({
    yaml: `${ACCOUNT}    share: 3
    rate_limit:
      shared: redis://redis
      shared_unreachable: 20
refresh:
  weights:
    live: 7
`,
  })
  expect(settings.accounts[0]).toMatchObject({ weight: 3, shared: { fallback: 20 } })
  expect(settings.refresh.weights).toEqual({ fieldwork: 4, active: 7, other: 1 })
})

test('a wrong value under an old name is reported with its line', async () => {
  expect(await problemsOf({ yaml: `${ACCOUNT}    share: 0\n` })).toEqual([
    'settings.yaml:6: accounts[0].weight must be a whole number from 1 to 1000',
  ])
})

test('an old name beside the new one is refused', async () => {
  expect(await problemsOf({ yaml: `${ACCOUNT}    weight: 2\n    share: 3\n` })).toEqual([
    'settings.yaml:7: accounts[0].weight is also set under its old name, share; remove share',
  ])
})

test('an old name in another section is not a setting', async () => {
  expect(await problemsOf({ yaml: `${ACCOUNT}refresh:\n  share: 3\n` })).toEqual([
    'settings.yaml:7: refresh.share is not a setting; remove it',
  ])
})
