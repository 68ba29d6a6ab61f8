/** The levels from which a survey needs action are parts of the whole, and false is none. */
import { expect, test } from 'vitest'
import { ACCOUNT_ENV, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const DEFAULTS = { drop_out: 0.3, incidence: 0.1, quota_full: 0.4, rejected: 0.15 }

test.each([
  ['', {}],
  ['alarms: {drop_out: false, incidence: 1}', { drop_out: null, incidence: 1 }],
  [`alarms: {rejected: "\${LEVEL}"}`, { rejected: 0.25 }],
])('%j sets levels', async (yaml, change) => {
  const { alarms } = await load({ yaml, env: { ...ACCOUNT_ENV, LEVEL: '0.25' } })
  expect(alarms).toEqual({ ...DEFAULTS, ...change })
})

test.each(['0', '30', '30%', 'true', '-0.1', '.nan'])('%s is no level', async (value) => {
  expect(await problemsOf({ yaml: `alarms:\n  drop_out: ${value}\n`, env: ACCOUNT_ENV })).toEqual([
    expect.stringContaining(':2: alarms.drop_out must be a part of the whole, above 0 and up to 1'),
  ])
})
