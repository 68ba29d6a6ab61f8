/**
 * Every query of docs/reference/queries.md and every view gives the same result in every supported version of DuckDB as in our own.
 * They run on a file that the real command has published.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ENVIRONMENTS } from './python.js'

const VERSIONS = ENVIRONMENTS.filter((name) => name.startsWith('duckdb-'))

test('docs/reference/tested.md names the versions of DuckDB, and of each package that the tests install', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
  const page = read('../../../docs/reference/tested.md')
  const pinned = [...read('environments.json').matchAll(/"(?!pytz|duckdb)([\w-]+)==([\d.]+)"/g)]
  expect(pinned.filter(([, name, version]) => !page.includes(`${name} ${version}`))).toEqual([])
  const [, named = ''] = /tried with DuckDB ([\d., and]+\d)/.exec(page) ?? []
  expect(VERSIONS.map((name) => name.slice('duckdb-'.length))).toEqual(named.split(/, | and /))
})
