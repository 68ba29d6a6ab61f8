/** Reads the queries of docs/reference/queries.md, by their headings, and those of the other pages. */
import { readdirSync, readFileSync } from 'node:fs'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { ALL_CASES } from '../../support/suite/cases.js'

export const page = readFileSync(new URL('../../../docs/reference/queries.md', import.meta.url), 'utf8')

export const QUERIES: ReadonlyMap<string, string> = new Map(
  [...page.matchAll(/^## (.+)\n(?:(?!## )[\s\S])*?```sql\n([\s\S]*?);\n```/gm)].map(
    ([, title = '', sql = '']) => [title, sql],
  ),
)

export const sqlOf = (title: string): string => {
  const sql = QUERIES.get(title)
  if (sql === undefined) throw new Error(`docs/reference/queries.md has no query ${title}`)
  return sql
}

/** The query with some columns as text, such as `2026-03-01` for a date. */
export const asText = (title: string, columns: readonly string[]): string =>
  `SELECT * REPLACE (${columns.map((name) => `${name}::VARCHAR AS ${name}`).join(', ')}) FROM (${sqlOf(title)})`

/** Blocks of SQL, and the SQL of `duckdb -readonly` and `query` lines. */
const SQL =
  /^```sql\n([\s\S]*?)^```$|(?:duckdb -readonly|(?:fieldwork-sync|main\.js) query)[^"\n]* "([^"]+)"/gm

/** The queries of the other pages that read tables of the warehouse: page and SQL. */
export const queriesOfOtherPages = (): readonly (readonly [string, string])[] => {
  const root = new URL('../../../', import.meta.url)
  const pages = readdirSync(new URL('docs', root), { encoding: 'utf8', recursive: true })
    .filter((name) => /^((how-to|explanation)\/.*|tutorial)\.md$/.test(name))
    .map((name) => `docs/${name}`)
  return ['README.md', ...pages.sort()].flatMap((name) =>
    [...readFileSync(new URL(name, root), 'utf8').matchAll(SQL)]
      .map(([, block, line]) => (block ?? line ?? '').replaceAll(/^--.*\n/gm, '').trim())
      // Files have other tests, see test/integration/readers. `{{` is dbt's, and `deltaLake` is of ClickHouse.
      .filter(
        (sql) =>
          /^(SELECT|FROM|WITH) /.test(sql) && !/'\/data\/|read_parquet|delta_scan|deltaLake|\{\{/.test(sql),
      )
      .map((sql) => [name, sql] as const),
  )
}

/** The views to select from beside these queries. `npm test` leaves out those that one of them, or another view, reads. */
export const viewsBeside = (queries: readonly string[]) =>
  ALL_VIEWS.filter(({ name }) => {
    const reads = new RegExp(`\\b${name}\\b`)
    return ALL_CASES || ![...queries, ...ALL_VIEWS.map(({ sql }) => sql)].some((sql) => reads.test(sql))
  })
