/** `test/unit` mirrors `src`, so that the tests of a module are found by its name, and `test/README.md` names every folder. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const readme = readFileSync(`${root}test/README.md`, 'utf8')

/** Files below `folder`, relative to it. */
const filesBelow = (folder: string): readonly string[] =>
  readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(`${root}${folder}/`.length))

const modules = filesBelow('src').map((file) => file.replace(/\.tsx?$/, ''))
const folders = [...new Set(modules.map((path) => dirname(path)))]
const tests = filesBelow('test/unit').filter((file) => file.endsWith('.test.ts'))

test('every folder of unit tests is a folder of src', () => {
  expect(tests.length).toBeGreaterThan(100)
  expect(tests.filter((file) => !folders.includes(dirname(file)))).toEqual([])
})

test('the name of a unit test begins with a module or folder of src, in the same folder or below it', () => {
  const namesBelow = (folder: string) =>
    [...modules, ...folders].filter((path) => path.startsWith(`${folder}/`)).map((path) => basename(path))
  const unknown = tests.filter((file) => {
    const name = basename(file).replace(/(\.(ci|full))?\.test\.ts$/, '')
    return !namesBelow(dirname(file)).some((known) => name === known || name.startsWith(`${known}-`))
  })
  expect(unknown).toEqual([])
})

test.each(['test', 'test/support'])('the README of the tests names every folder of %s', (folder) => {
  const paths = filesBelow(folder).filter((file) => file.includes('/'))
  const names = new Set(paths.map((path) => `\`${path.split('/')[0]}/\``))
  expect(names.size).toBeGreaterThan(5)
  expect([...names].filter((name) => !readme.includes(name))).toEqual([])
})
