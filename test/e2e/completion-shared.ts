/** What both test files of completion use. */

/** A line with the cursor at its end, and the only completion of its last word; null for paths. */
export const LINES: readonly (readonly [line: string, words: readonly string[], only: string])[] = [
  ['a command', ['st'], 'status'],
  ['a command after a flag', ['--config', 'sync', 'pl'], 'plan'],
  ['a flag', ['sync', '--max-d'], '--max-duration'],
  ['a format', ['export', '--format', 'c'], 'csv'],
  ['a format of schema', ['schema', '--format', 'd'], 'dbt'],
  ['a log level', ['check', '--log-level', 's'], 'silent'],
  ['a table', ['export', '--tables', '_sync.ru'], '_sync.runs'],
  ['the second table of a list', ['export', '--tables', 'surveys,fr'], 'surveys,freshness'],
  ['the second format of a list', ['sync', '--publish', 'duckdb,p'], 'duckdb,parquet'],
  ['a query', ['query', 'forecast-'], 'forecast-accuracy'],
  ['a format of query', ['query', 'forecast', '--format', 'm'], 'markdown'],
  ['a shell', ['completion', 'z'], 'zsh'],
  ['a flag behind a given one', ['sync', '--full', '--js'], '--json'],
]
