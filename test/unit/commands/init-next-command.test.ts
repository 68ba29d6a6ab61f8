/** The command line that `init` says to type next can be typed as it is. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nextCommand } from '../../../src/commands/init.js'

const PATH = '/usr/local/bin:/usr/bin'
const words = ['check', '--config', 'a.yaml']

test.each([
  ['/usr/local/bin/fieldwork-sync', 'fieldwork-sync check --config a.yaml'],
  [
    '/opt/app/node_modules/.bin/fieldwork-sync',
    '/opt/app/node_modules/.bin/fieldwork-sync check --config a.yaml',
  ],
  [join(process.cwd(), 'dist/main.js'), 'node dist/main.js check --config a.yaml'],
  ['/opt/app/dist/main.js', 'node /opt/app/dist/main.js check --config a.yaml'],
])('a command started as %s', (script, line) => {
  expect(nextCommand(words, script, { PATH })).toBe(line)
})

test('a path with blanks and quotes is quoted', () => {
  expect(nextCommand(["it's here/a.yaml"], '/usr/bin/fieldwork-sync', { PATH })).toBe(
    `fieldwork-sync 'it'\\''s here/a.yaml'`,
  )
})
