import { expect, test } from 'vitest'
import { dataKey } from '../../../../src/publish/parquet/write-version.js'
import {
  databaseKey,
  isManifest,
  isWrittenOnce,
  manifestKey,
  snapshotKey,
} from '../../../../src/storage/bucket/documents.js'

test('keys hold version and run', () => {
  expect(manifestKey(124, 'RUN')).toBe('versions/000124-RUN.json')
  expect(databaseKey(124, 'RUN')).toBe('duckdb/000124-RUN.duckdb')
  expect(snapshotKey(124, 'RUN', 2)).toBe('snapshots/000124-RUN-2.duckdb')
  expect(dataKey('surveys/account=a b/created_month=2026-01', 124, 'RUN', 'f'.repeat(64))).toBe(
    `data/surveys/account=a b/created_month=2026-01/v124-RUN-${'f'.repeat(16)}.parquet`,
  )
})

test('the keys of later versions sort later', () => {
  const versions = [1, 9, 10, 99_999, 123_456, 999_999]
  const keys = versions.map((version) => manifestKey(version, 'RUN'))
  expect(keys.toSorted()).toEqual(keys)
})

test('only what a run writes under a key of its own is recognized', () => {
  const run = '20260301T010203Z-0a1b2c'
  const written = [
    manifestKey(1, run),
    manifestKey(1_234_567, run),
    databaseKey(2, run),
    snapshotKey(2, run, 13),
    dataKey('surveys/account=a b%2F_delta_log/created_month=unknown', 1, run, 'a'.repeat(64)),
  ]
  expect(written.map(isWrittenOnce)).toEqual(written.map(() => true))
  expect(written.map(isManifest)).toEqual([true, true, false, false, false])
  const others = written.flatMap((key) => [`${key}.bak`, `copy/${key}`, key.replace(run, 'notes'), `${key}/`])
  const logs = [
    'data/surveys/_delta_log/00000000000000000001.json',
    'data/_sync/runs/_delta_log/_last_checkpoint',
  ]
  const placeholders = ['versions/', 'data/', 'data/surveys/', 'duckdb/', 'snapshots/']
  for (const key of [...others, ...logs, ...placeholders])
    expect([key, isWrittenOnce(key)]).toEqual([key, false])
})
