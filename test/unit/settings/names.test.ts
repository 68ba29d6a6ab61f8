/** Every flag and variable reaches its setting in the schema. A wrong path would silently drop its value. */
import { expect, test } from 'vitest'
import { COMMANDS } from '../../../src/commands/table.js'
import { SETTING_NAMES } from '../../../src/settings/names.js'
import { ACCOUNT, ACCOUNT_ENV, load, problemsOf, TOKEN } from '../../support/settings/settings-from-yaml.js'

test.each(SETTING_NAMES.flatMap(({ flag }) => flag ?? []))('the flag %s is read', async (flag) => {
  const problems = await problemsOf({ flags: { [flag]: [['no such value']] }, oneAccount: true })
  expect(problems).toContainEqual(expect.stringMatching(new RegExp(`^--${flag}: must `)))
})

test.each(SETTING_NAMES.flatMap(({ variable }) => variable ?? []))(
  'the variable %s is read',
  async (variable) => {
    const problems = await problemsOf({ env: { [variable]: 'no such\0value' } })
    expect(problems).toContainEqual(expect.stringMatching(new RegExp(`^${variable}: (must|contains) `)))
  },
)

test('every flag of the settings belongs to a command', () => {
  const commands = COMMANDS.filter(({ name }) => name !== 'reference-server')
  const offered = new Set(commands.flatMap(({ flags }) => Object.keys(flags)))
  const missing = SETTING_NAMES.filter(({ flag }) => flag !== null && !offered.has(flag))
  expect(missing).toEqual([])
})

test.each([
  ['FIELDWORK_SYNC_WAREHOSUE', 'FIELDWORK_SYNC_WAREHOUSE'],
  ['FIELDWORK_SYNC_BASEURL', 'FIELDWORK_SYNC_BASE_URL'],
  ['FIELDWORK_SYNC_LOGLEVEL', 'FIELDWORK_SYNC_LOG_LEVEL'],
  ['FIELDWORK_SYNC_log_level', 'FIELDWORK_SYNC_LOG_LEVEL'],
])('the variable %s is not passed over in silence', async (variable, meant) => {
  expect(await problemsOf({ env: { [variable]: 'x' } })).toContain(
    `${variable}: is not a setting; did you mean ${meant}?`,
  )
})

/** As Kubernetes sets them for the services `fieldwork-sync` and `fieldwork-sync-api`. */
const INJECTED = [
  'SERVICE_HOST',
  'SERVICE_PORT',
  'SERVICE_PORT_HTTP',
  'PORT',
  'PORT_80_TCP',
  'PORT_80_TCP_ADDR',
].flatMap((name) => [`FIELDWORK_SYNC_${name}`, `FIELDWORK_SYNC_API_${name}`])

test('variables of Kubernetes for a service, of the settings file, and empty ones are known', async () => {
  const env = Object.fromEntries([
    ...INJECTED.map((name) => [name, 'tcp://10.0.0.1:80']),
    ['FIELDWORK_SYNC_WAREHOSUE', ''],
    ['FIELDWORK_SYNC_API_TOKEN_2', TOKEN],
  ])
  const yaml = ACCOUNT.replace(TOKEN, '$' + '{FIELDWORK_SYNC_API_TOKEN_2}')
  expect((await load({ env, yaml })).warnings).toEqual([])
  // A command that needs no account does not read its token.
  expect((await load({ env, yaml, requireAccounts: false })).warnings).toEqual([])
})

test('one warning names all others, and problems come with it', async () => {
  const env = { ...ACCOUNT_ENV, FIELDWORK_SYNC_MAX_REQUESTS: '5', FIELDWORK_SYNC_API_TOKEN_2: 'x' }
  const warning =
    'FIELDWORK_SYNC_MAX_REQUESTS, FIELDWORK_SYNC_API_TOKEN_2: are not settings, and the settings file does not use them. Correct the name, or unset it'
  expect((await load({ env })).warnings).toEqual([warning])
  expect(await problemsOf({ env: { ...env, FIELDWORK_SYNC_API_ID: 'x' } })).toContain(warning)
})
