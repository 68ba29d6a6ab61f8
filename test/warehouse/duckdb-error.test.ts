/** What DuckDB says and what it means: texts as version 1.5 writes them, most of them provoked in open.test.ts. */
import { expect, test } from 'vitest'
import { duckdbError, isTroubleAroundTheFile } from '../../src/warehouse/duckdb-error.js'
import { WarehouseDamagedError, WarehouseUnusableError } from '../../src/warehouse/errors.js'

const meaningOf = (text: string): string => {
  const error = duckdbError(new Error(text), 'write', '/data/work.duckdb')
  if (error instanceof WarehouseDamagedError) return 'damage'
  return error instanceof WarehouseUnusableError ? 'storage' : 'bug'
}

test.each([
  ['storage', 'IO Error: Could not write file "/data/work.duckdb.wal": No space left on device'],
  [
    'storage',
    'TransactionContext Error: Failed to commit: Could not write file "/data/work.duckdb.wal": No space left on device',
  ],
  ['storage', 'FATAL Error: Failed: database has been invalidated because of a previous fatal error.'],
  [
    'storage',
    'Out of Memory Error: failed to offload data block of size 256.0 KiB (953.6 MiB/953.6 MiB used).',
  ],
  ['storage', 'Permission Error: Cannot access file "/data/work.spill" - permission denied'],
  [
    'storage',
    'Failed to close appender: IO Error: Could not write file "/data/work.spill/a": Disk quota exceeded',
  ],
  [
    'damage',
    'IO Error: Corrupt database file: computed checksum 15793181168302611359 does not match stored checksum 8299201480189056175 in block at location 1323008',
  ],
  [
    'damage',
    'IO Error: Could not read enough bytes from file "/data/work.duckdb": attempted to read 262144 bytes',
  ],
  ['damage', 'IO Error: The file "/data/work.duckdb" exists, but it is not a valid DuckDB database file!'],
  ['bug', 'Constraint Error: NOT NULL constraint failed: freshness.survey_id'],
  ['bug', "Conversion Error: Could not convert string 'IO Error: gone' to INT64"],
  ['bug', 'Parser Error: syntax error at or near "FATAL Error:"'],
  ['bug', 'column title is VARCHAR and cannot hold a number'],
])('%s: %s', (meaning, text) => {
  expect(meaningOf(text)).toBe(meaning)
})

test.each([
  [true, 'IO Error: Cannot open file "/data/work.duckdb.wal": Permission denied'],
  [true, 'IO Error: Could not write file "/data/work.duckdb": No space left on device'],
  [true, 'IO Error: Cannot open file "/data/work.duckdb": Too many open files'],
  [true, 'Out of Memory Error: could not allocate block of size 256.0 KiB'],
  [false, 'IO Error: The file "/data/work.duckdb" exists, but it is not a valid DuckDB database file!'],
  [
    false,
    'IO Error: Failure while replaying WAL file "/data/work.duckdb.wal": Corrupt WAL file: entry at byte position 24 computed checksum 1 does not match stored checksum 2',
  ],
])('a file that cannot be opened may be in order (%s): %s', (maybe, text) => {
  expect(isTroubleAroundTheFile(new Error(text))).toBe(maybe)
})
