/** Every flag and variable reaches its setting in the schema. A wrong path would silently drop its value. */
import { expect, test } from 'vitest'
import { COMMANDS } from '../../../src/commands/table.js'
import { SETTING_NAMES } from '../../../src/settings/names.js'
import { problemsOf } from '../../support/settings/settings-from-yaml.js'

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

test('variables of Kubernetes for a service, of a file, and empty ones are no settings', async () => {
  const ours = [
    'SERVICE_HOST',
    'SERVICE_PORT',
    'SERVICE_PORT_HTTP',
    'PORT',
    'PORT_80_TCP',
    'PORT_80_TCP_ADDR',
  ]
  const injected = ours.map((name) => [`FIELDWORK_SYNC_${name}`, 'tcp://10.0.0.1:80'])
  const env = Object.fromEntries([
    ...injected,
    ['FIELDWORK_SYNC_WAREHOSUE', ''],
    ['FIELDWORK_SYNC_API_TOKEN_2', 'x'],
  ])
  expect(await problemsOf({ env })).toEqual(await problemsOf({}))
})
