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
