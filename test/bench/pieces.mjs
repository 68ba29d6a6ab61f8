/**
 * `npm run bench -- pieces`: counts what somebody has to know of the house: lines, files, files with one importer, exported types, error
 * classes, words of decisions; and what one reads to answer each question of ARCHITECTURE, "Where to look". So that anybody can see it
 * grow.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const below = (folder, ends) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ends.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
const read = (files) => new Map(files.map((file) => [file, readFileSync(file, 'utf8')]))
const linesIn = (texts) => [...texts.values()].reduce((sum, text) => sum + text.split('\n').length - 1, 0)

const src = read(below('src', /\.tsx?$/))
const importers = new Map([...src.keys()].map((file) => [file, new Set()]))
for (const [file, text] of src)
  for (const [, path] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)\.js'/g))
    for (const end of ['.ts', '.tsx']) importers.get(normalize(join(dirname(file), path)) + end)?.add(file)
const single = [...importers].filter(([, by]) => by.size === 1)
const ofNeighbour = single.filter(([file, [by]]) => dirname(file) === dirname(by))

const types = [...src].flatMap(([file, text]) =>
  [...text.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => ({ file, name })),
)
const isApart = ({ file }) => /^src\/(conformance|reference-server)\//.test(file)
const names = types.filter((type) => !isApart(type)).map(({ name }) => name)
const twice = new Set(names.filter((name, place) => names.indexOf(name) !== place))
const errors = [...src.values()].flatMap((text) => text.match(/class \w+Error\b/g) ?? [])
const decisions = read(below('docs/decisions', /\.md$/))
const words = [...decisions.values()].flatMap((text) => text.split(/\s+/).filter(Boolean))

const [, table = ''] = /## Where to look\n([\s\S]*)/.exec(readFileSync('ARCHITECTURE.md', 'utf8')) ?? []
const answers = [...table.matchAll(/^\| ([^|]+\?) \| (.*) \|$/gm)].map(([, question, answer]) => {
  const files = [...new Set([...answer.matchAll(/`(src\/[^`]+)`/g)].map(([, file]) => file))]
  return [question, files.length, linesIn(new Map(files.map((file) => [file, src.get(file)])))]
})

for (const [what, count] of [
  ['lines of src', linesIn(src)],
  ['files of src', src.size],
  ['files with one importer', single.length],
  ['of these, files that serve a neighbour in their folder', ofNeighbour.length],
  ['exported types', types.length],
  ['exported types that are defined twice, apart from conformance and the reference server', twice.size],
  ['error classes', errors.length],
  ['lines of test', linesIn(read(below('test', /\.(ts|tsx|mjs|py)$/)))],
  ['pages of decisions', decisions.size],
  ['words of decisions', words.length],
])
  console.log(`${String(count).padStart(7)}  ${what}`)
for (const [question, files, lines] of answers)
  console.log(`${String(lines).padStart(7)}  lines in ${files} files: ${question}`)
