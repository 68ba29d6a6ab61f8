/** Reads the queries of docs/reference/queries.md, by their headings. */
import { readFileSync } from 'node:fs'

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
