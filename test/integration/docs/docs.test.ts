import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { COMMANDS } from '../../../src/commands/table.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (name: string): string => readFileSync(`${root}${name}`, 'utf8')
test.each(COMMANDS)(
  'README and the page of commands name $name, and the page every flag',
  ({ name, flags }) => {
    const page = read('docs/reference/commands.md')
    expect(read('README.md')).toContain(`| \`${name}\` |`)
    expect(page).toContain(`## ${name}\n`)
    expect(Object.keys(flags).filter((flag) => !page.includes(flag))).toEqual([])
  },
)

const DOCS = readdirSync(`${root}docs`, { encoding: 'utf8', recursive: true })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name))
  .sort()
const DECISIONS = DOCS.filter(
  (page) => page.startsWith('docs/decisions/') && page !== 'docs/decisions/README.md',
)

test.each(['ARCHITECTURE.md', ...DOCS])('every file that %s names exists', (page) => {
  const named = [...read(page).matchAll(/`((?:src|test|config|docs)\/[\w./-]+)`/g)].map(
    ([, path = '']) => path,
  )
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

const npmScriptsIn = (page: string): readonly string[] =>
  [...read(page).matchAll(/npm (?:run ([a-z:-]+)|(test)\b)/g)].flatMap(
    ([, script, test]) => script ?? test ?? [],
  )

test.each(['README.md', 'ARCHITECTURE.md', ...DOCS])(
  'every npm script that %s names is in package.json',
  (page) => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    expect(npmScriptsIn(page).filter((name) => scripts[name] === undefined)).toEqual([])
  },
)

test.each(['README.md', 'ARCHITECTURE.md', 'docs/reference/npm-scripts.md'])(
  '%s names npm scripts',
  (page) => {
    expect(npmScriptsIn(page).length).toBeGreaterThan(0)
  },
)

/** The numbers that the index gives a page: `0024, 0025, 0056 to 0058` are five. */
const numbersIn = (text: string): readonly number[] =>
  [...text.matchAll(/\b(\d{4})(?: to (\d{4}))?\b/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, place) => Number(first) + place),
  )

const numbersOf = (page: string): readonly number[] =>
  [...read(page).matchAll(/^## (\d{4}) \S/gm)].map(([, number]) => Number(number))

test('the index lists every page of decisions, with its numbers', () => {
  const listed = [
    ...read('docs/decisions/README.md').matchAll(/^- \[[^\]]+\]\(([a-z-]+\.md)\) \((.+)\): \S/gm),
  ].map(([, name, numbers = '']) => ({ page: `docs/decisions/${name}`, numbers: numbersIn(numbers) }))
  expect(listed.map(({ page }) => page).sort()).toEqual(DECISIONS)
  for (const { page, numbers } of listed) expect([page, numbers]).toEqual([page, numbersOf(page)])
})

test('each number stands for one decision', () => {
  const numbers = DECISIONS.flatMap(numbersOf)
  expect(new Set(numbers).size).toBe(numbers.length)
  expect(numbers.length).toBeGreaterThan(76)
})

test.each(DECISIONS)('each decision of %s has a number, its reason and what was rejected', (page) => {
  expect(read(page)).toMatch(/^# \S/)
  const [, ...sections] = read(page).split(/^## /m)
  for (const section of sections) {
    expect(section).toMatch(/^\d{4} \S/)
    expect(section).toMatch(/^\*\*Why:\*\* \S/m)
    expect(section).toMatch(/^\*\*Rejected(:\*\*|\*\*, )/m)
  }
})

test('ARCHITECTURE.md lists every room of src, with the imports that the dependency check allows', async () => {
  const { rooms } = await import(`${root}config/dependency-cruiser.mjs`)
  const folders = readdirSync(`${root}src`, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const [, picture = ''] = /\nsrc\/\n(.*?)```/s.exec(read('ARCHITECTURE.md')) ?? []
  const imports = picture.split(/\n {2}(?=[a-z-]+\/ )/).flatMap((lines) => {
    const [, room = '', of = ''] = /^([a-z-]+)\/ .*?Imports ([a-z, -]+)$/ms.exec(lines) ?? []
    return room === '' ? [] : [[room, of]]
  })
  expect(Object.fromEntries(imports)).toEqual({
    commands: 'every room',
    ...Object.fromEntries(
      Object.entries<string[]>(rooms).map(([room, of]) => [room, of.join(', ') || 'no room']),
    ),
  })
  expect(imports.map(([room]) => room).sort()).toEqual(folders.map(({ name }) => name).sort())
})

test('ARCHITECTURE.md describes the way of a row through the rooms in their order', () => {
  const [, way = ''] = /## A survey row's way\n([\s\S]*?)(?:\n#|$)/.exec(read('ARCHITECTURE.md')) ?? []
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
