import { expect, test } from 'vitest'
import {
  databaseKey,
  dataKey,
  isDeltaLog,
  ledgerKey,
  manifestKey,
  snapshotKey,
} from '../../../../src/publish/bucket/keys.js'

test('keys hold version and run', () => {
  expect(manifestKey(124, 'RUN')).toBe('versions/000124-RUN.json')
  expect(databaseKey(124, 'RUN')).toBe('duckdb/000124-RUN.duckdb')
  expect(snapshotKey(124, 'RUN', 2)).toBe('snapshots/000124-RUN-2.duckdb')
  expect(dataKey('surveys/account=a b/created_month=2026-01', 124, 'RUN', 'f'.repeat(64))).toBe(
    `data/surveys/account=a b/created_month=2026-01/v124-RUN-${'f'.repeat(16)}.parquet`,
  )
  expect(ledgerKey('sent-requests-a.ndjson')).toBe('ledger/sent-requests-a.ndjson')
})

test('the keys of later versions sort later', () => {
  const versions = [1, 9, 10, 99_999, 123_456, 999_999]
  const keys = versions.map((version) => manifestKey(version, 'RUN'))
  expect(keys.toSorted()).toEqual(keys)
})

test('only objects of a Delta log are in a Delta log', () => {
  expect(isDeltaLog('data/surveys/_delta_log/00000000000000000001.json')).toBe(true)
  expect(isDeltaLog('data/_sync/runs/_delta_log/_last_checkpoint')).toBe(true)
  expect(isDeltaLog(dataKey('surveys/account=_delta_log/created_month=1', 1, 'RUN', 'a'))).toBe(false)
  expect(isDeltaLog('versions/_delta_log/1')).toBe(false)
})
