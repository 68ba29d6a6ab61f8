/** What both test files of page use. */
import { readFileSync } from 'node:fs'

const PAGES = ['parquet', 'read-with-duckdb-and-python']
const text = PAGES.map((page) =>
  readFileSync(new URL(`../../../docs/how-to/${page}.md`, import.meta.url), 'utf8'),
).join('\n')
export const BLOCKS = [...text.matchAll(/```python\n([\s\S]*?)```/g)].map(([, code = '']) => ({
  code,
  library: /^(?:from|import) (\w+)/m.exec(code)?.[1] ?? '',
}))
export const ENVIRONMENT_OF: Readonly<Record<string, string>> = {
  polars: 'frames',
  pandas: 'frames',
  pyspark: 'spark',
  sqlalchemy: 'sqlalchemy',
}
