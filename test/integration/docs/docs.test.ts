import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EXIT_CODES } from '../../../src/base/errors.js'
import { settingsReference } from '../../../src/settings/reference.js'
import { runWarm } from '../../support/command/warm.js'

const root = new URL('../../../', import.meta.url).pathname
const read = (name: string): string => readFileSync(`${root}${name}`, 'utf8')
const COMMANDS = [
  'sync',
  'plan',
  'check',
  'status',
  'export',
  'replay',
  'schema',
  'conformance',
  'reference-server',
]

test('the README contains the generated settings reference', () => {
  expect(read('README.md')).toContain(settingsReference().trim())
})

test.each(COMMANDS)('the README names %s and every flag that its --help shows', async (command) => {
  const readme = read('README.md')
  const { code, stdout } = await runWarm([command, '--help'])
  expect(code).toBe(0)
  expect(readme).toContain(`| \`${command}\` |`)
  const flags = [...stdout.matchAll(/^\s+(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag = '']) => flag)
  expect(flags.length).toBeGreaterThan(3)
  const unnamed = flags.filter((flag) => !['--help', '--version'].includes(flag) && !readme.includes(flag))
  expect(unnamed).toEqual([])
})

test('the README and --help list every exit code, in the same words', async () => {
  const readme = read('README.md')
  const { stdout } = await runWarm(['--help'])
  const listed = [...stdout.matchAll(/^ {2}(\d) {2}(.+)$/gm)].map(([, code, meaning]) => ({
    code: Number(code),
    meaning,
  }))
  expect(listed.map(({ code }) => code)).toEqual(Object.values(EXIT_CODES).sort())
  for (const { code, meaning } of listed) expect(readme).toContain(`| ${code} | ${meaning} |`)
})

test.each(['README.md', 'ARCHITECTURE.md'])('every file that %s links to exists', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)\)/g)].map(([, path = '']) => path)
  expect(links.filter((path) => !existsSync(`${root}${path}`))).toEqual([])
})

test.each(['README.md', 'ARCHITECTURE.md'])('every npm script that %s names is in package.json', (page) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const named = [...read(page).matchAll(/npm (?:run ([a-z:-]+)|(test)\b)/g)].map(
    ([, script, test]) => script ?? test,
  )
  expect(named.length).toBeGreaterThan(0)
  expect(named.filter((name) => name !== undefined && scripts[name] === undefined)).toEqual([])
})

test('ARCHITECTURE.md lists every room of src, and the dependency check has its arrows', () => {
  const rooms = readdirSync(`${root}src`, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const arrows = read('config/dependency-cruiser.mjs')
  for (const { name } of rooms) {
    expect(read('ARCHITECTURE.md')).toMatch(new RegExp(`^  ${name}/ `, 'm'))
    if (name !== 'commands') expect(arrows).toMatch(new RegExp(`^ {2}'?${name}'?: \\[`, 'm'))
  }
  expect(rooms.length).toBeGreaterThan(8)
})

test('the README describes the way of a row through the rooms in their order', () => {
  const [, way = ''] = /## A row's way through the code\n([\s\S]*?)(?:\n#|$)/.exec(read('README.md')) ?? []
  const files = [...way.matchAll(/\((src\/[^)]+)\)/g)].map(([, path = '']) => path)
  expect(files.map((path) => path.split('/')[1])).toEqual([
    'commands',
    'sync',
    'sync',
    'survey-api',
    'http',
    'survey-api',
    'warehouse',
    'publish',
  ])
})
