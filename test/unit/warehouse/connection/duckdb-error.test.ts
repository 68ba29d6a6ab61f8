/** What DuckDB's messages mean. The texts are from version 1.5; open.test.ts provokes most of them. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { StoppedError, WarehouseError } from '../../../../src/base/errors.js'
import { publishError } from '../../../../src/publish/publish-error.js'
import {
  duckdbError,
  isAboutContent,
  isDamage,
  lockHolder,
  unreadable,
} from '../../../../src/warehouse/connection/duckdb-error.js'
import { WarehouseDamagedError, WarehouseUnusableError } from '../../../../src/warehouse/connection/errors.js'
import { cannotWrite } from '../../../../src/warehouse/lifecycle/open.js'

const LOCKED = 'IO Error: Could not set lock on file "/data/fieldwork.duckdb":'

const held = (by: string) => `${LOCKED} Conflicting lock is held in ${by}. See also https://duckdb.org/docs`

const NEWER =
  'IO Error: Trying to read a database file with version number 99, but we can only read versions between 64 and 68.'
const ELSEWHERE = 'a process in another container or on another machine'
/** No process of Linux has this id. */
const PIDS_MAX = 4_194_304

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
  [
    'damage',
    'IO Error: Failed to scan dictionary string - offset out of range. Database file appears to be corrupted.',
  ],
  ['damage', 'IO Error: Failed to decode LEB128 integer: data may be corrupt'],
  [
    'storage',
    'IO Error: Could not read from file "/corrupt/work.duckdb": Transport endpoint is not connected',
  ],
  ['storage', 'IO Error: Corrupt temporary file: decompressed block is 1 bytes but expected 2'],
  ['damage', 'IO Error: The file "/data/work.duckdb" exists, but it is not a valid DuckDB database file!'],
  ['bug', 'Constraint Error: NOT NULL constraint failed: freshness.survey_id'],
  ['bug', "Conversion Error: Could not convert string 'IO Error: gone' to INT64"],
  ['bug', 'Parser Error: syntax error at or near "FATAL Error:"'],
  ['bug', 'column title is VARCHAR and cannot hold a number'],
])('%s: %s', (meaning, text) => {
  expect(meaningOf(text)).toBe(meaning)
})

test.each([
  [true, 'IO Error: No more data remaining in MetadataReader'],
  [
    true,
    'IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2 in block "7"',
  ],
  [false, 'IO Error: Could not read from file "/data/fieldwork.duckdb": Transport endpoint is not connected'],
  [false, NEWER],
])('%s, for a report: %s', (expected, text) => {
  expect(isAboutContent(new Error(text))).toBe(expected)
})

test.each([
  [false, 'IO Error: Cannot open file "/data/work.duckdb.wal": Permission denied'],
  [false, 'IO Error: Could not write file "/data/work.duckdb": No space left on device'],
  [false, 'IO Error: Cannot open file "/data/work.duckdb": Too many open files'],
  [false, 'Out of Memory Error: could not allocate block of size 256.0 KiB'],
  [false, `${LOCKED} Conflicting lock is held in /usr/bin/node (PID 9161). See also https://duckdb.org`],
  [false, 'IO Error: Could not read from file "/data/fieldwork.duckdb": Transport endpoint is not connected'],
  [false, NEWER],
  [
    false,
    'IO Error: Failure while replaying WAL file "/data/work.duckdb.wal": IO Error: Could not write file "/data/work.duckdb": No space left on device',
  ],
  [true, 'IO Error: The file "/data/work.duckdb" exists, but it is not a valid DuckDB database file!'],
  [true, 'Serialization Error: Failed to deserialize: expected end of object, but found field id: 1'],
  [true, '/data/parquet/versions/000002/manifest.json cannot be read'],
  [
    true,
    'IO Error: Failure while replaying WAL file "/data/work.duckdb.wal": Corrupt WAL file: entry at byte position 24 computed checksum 1 does not match stored checksum 2',
  ],
])('whether the content of a file is damaged (%s): %s', (damaged, text) => {
  expect(isDamage(new Error(text))).toBe(damaged)
})

test('an error of the operating system is no damage', async () => {
  expect(isDamage(await readFile('/dev/null/x').catch((error: unknown) => error))).toBe(false)
})

test.each([
  [held('/usr/bin/node (PID 9161)'), 'process 9161 (/usr/bin/node)'],
  [held('/opt/a (b)/python3.11 (PID 12) by user ann'), 'process 12 (/opt/a (b)/python3.11, user ann)'],
  [held(`PID ${process.ppid}`), `process ${process.ppid}`],
  [held('PID 0'), ELSEWHERE],
  [held('PID -12'), ELSEWHERE],
  [held(`PID ${PIDS_MAX}`), ELSEWHERE],
  [`${LOCKED} Lock is already held in current process, likely another DuckDB instance`, null],
  [`${LOCKED} Resource temporarily unavailable`, null],
  ['IO Error: Conflicting lock is held in /usr/bin/node (PID 9161).', null],
])('the holder of the lock in: %s', (text, holder) => {
  expect(lockHolder(new Error(text))?.name ?? null).toBe(holder)
})

test.each([
  new StoppedError('stopped by SIGTERM'),
  new TypeError('undefined is not a function'),
  new RangeError('Invalid array length'),
  new WarehouseError(
    'lock_refused',
    'cannot lock /data/work.duckdb: this file system gives no locks (ENOLCK)',
  ),
  new z.ZodError([]),
])('%s says nothing about a file: it is passed on as it is', (error) => {
  expect(isDamage(error)).toBe(false)
  expect(unreadable('/data/fieldwork.duckdb', error)).toBe(error)
  expect(publishError(error, '/data/fieldwork.duckdb', 'The published file')).toBe(error)
  expect(() => cannotWrite('/data')(error)).toThrow(error)
})

test('an error of the operating system does not lead to the advice to publish anew', async () => {
  const error = await readFile('/dev/null/x').catch((error: unknown) => error)
  expect(unreadable('/data/fieldwork.duckdb', error)).toMatchObject({
    exitCode: 7,
    message: expect.stringMatching(/^cannot read \/data\/fieldwork\.duckdb: ENOTDIR.* Check the permissions/),
  })
})
