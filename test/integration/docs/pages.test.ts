/** Readers find their way: README is short, each page is two links away from README, and every link leads to a place that exists. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (page: string): string => readFileSync(join(root, page), 'utf8')

const pagesBelow = (directory: string): readonly string[] =>
  readdirSync(join(root, directory), { encoding: 'utf8', recursive: true })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name))
    .sort()

const DOCS = pagesBelow('docs')
const HOW_TO = pagesBelow('docs/how-to')
const ROOT_PAGES = readdirSync(root).filter((name) => name.endsWith('.md'))
const README_WORDS_MAX = 1_000

const withoutCode = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
const wordsOf = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length

test(`README has at most ${README_WORDS_MAX} words, code included`, () => {
  expect(wordsOf(read('README.md'))).toBeLessThanOrEqual(README_WORDS_MAX)
})

test.each(HOW_TO)('%s begins with the situation, and ends with what shows that it works', (page) => {
  const text = read(page)
  expect(text).toMatch(/^# .+\n\n[A-Z`]/)
  expect(headingsOf(text).at(-1)).toBe('See that it works')
  expect(text.split('\n## See that it works\n')[1]).toMatch(/^(```console| {4}\S)/m)
})

const headingsOf = (text: string): readonly string[] =>
  [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading)

/** The anchors that GitHub gives to the headings of a page. */
const anchorsOf = (page: string): ReadonlySet<string> => {
  const anchors = new Set<string>()
  for (const heading of headingsOf(read(page))) {
    const name = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = name
    for (let nth = 1; anchors.has(anchor); nth++) anchor = `${name}-${nth}`
    anchors.add(anchor)
  }
  return anchors
}

interface Link {
  readonly path: string
  readonly anchor: string | null
}

/** The relative links of a page, by their paths from the root of the project. */
const linksOf = (page: string): readonly Link[] =>
  [...withoutCode(read(page)).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(
    ([, path = '', anchor]) => ({
      path: path === '' ? page : join(page, '..', path),
      anchor: anchor ?? null,
    }),
  )

test.each([...ROOT_PAGES, ...DOCS, 'test/README.md'])(
  'every relative link of %s leads to a place',
  (page) => {
    const broken = linksOf(page).filter(
      ({ path, anchor }) =>
        !existsSync(join(root, path)) ||
        (anchor !== null && path.endsWith('.md') && !anchorsOf(path).has(anchor)),
    )
    expect(broken).toEqual([])
  },
)

const CODE = ['src', 'test', 'config'].flatMap((directory) =>
  readdirSync(join(root, directory), { encoding: 'utf8', recursive: true })
    .filter((name) => /\.(tsx?|mjs)$/.test(name))
    .map((name) => join(directory, name)),
)

/** The pages and headings that comments of a file name. */
const namedInComments = (file: string): readonly Link[] =>
  [...read(file).matchAll(/^\s*(?:\/?\*|\/\/).*$/gm)].flatMap(([comment]) =>
    [...comment.matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)].map(([, path = '', anchor]) => ({
      path,
      anchor: anchor ?? null,
    })),
  )

test('every page and heading that a comment names exists', () => {
  const named = CODE.flatMap((file) => namedInComments(file).map((link) => ({ file, ...link })))
  const broken = named.filter(
    ({ path, anchor }) => !existsSync(join(root, path)) || (anchor !== null && !anchorsOf(path).has(anchor)),
  )
  expect(broken).toEqual([])
  const decisions = named.filter(({ path }) => path.startsWith('docs/decisions/'))
  expect(decisions.filter(({ anchor }) => anchor === null)).toEqual([])
  expect(decisions.length).toBeGreaterThan(50)
})

const pagesLinkedFrom = (page: string): readonly string[] =>
  linksOf(page)
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.md') && existsSync(join(root, path)))

test('every page is two links away from README', () => {
  const first = pagesLinkedFrom('README.md')
  const reached = new Set(['README.md', ...first, ...first.flatMap(pagesLinkedFrom)])
  expect([...ROOT_PAGES, ...DOCS].filter((page) => !reached.has(page))).toEqual([])
  expect(DOCS.length).toBeGreaterThan(60)
})

test('docs/README.md lists every page, or the index that does', () => {
  const listed = new Set(['docs/README.md', 'docs/decisions/README.md'].flatMap(pagesLinkedFrom))
  const pages = DOCS.filter((page) => page !== 'docs/README.md')
  expect(pages.filter((page) => !listed.has(page))).toEqual([])
})
