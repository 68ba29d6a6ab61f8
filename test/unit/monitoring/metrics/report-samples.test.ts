/** The samples of a run, and which samples of an earlier run are still true. */
import { expect, test } from 'vitest'
import { accountSamples, runSamples, stillTrue } from '../../../../src/monitoring/metrics/report.js'
import { accountState, runEnd } from '../../../support/monitoring/run-ends.js'

const WAREHOUSE = '/data/fieldwork'

const valuesOf = (samples: ReturnType<typeof runSamples>, name: string) =>
  samples
    .filter((sample) => sample.name === `fieldwork_sync_${name}`)
    .map(({ labels, value }) => {
      const { warehouse, account: _, command: __, ...own } = labels
      expect(warehouse).toBe(WAREHOUSE)
      return [...Object.values(own), value]
    })

test('a run has its outcome, times and published bytes', () => {
  const samples = runSamples(WAREHOUSE, runEnd({ status: 'partial', exitCode: 3 }))
  const values: Readonly<Record<string, readonly unknown[]>> = {
    build_info: [['0.1.0', 1]],
    run_exit_code: [[3]],
    run_status: Object.entries({ complete: 0, partial: 1, failed: 0 }),
    run_start_timestamp_seconds: [[1_772_330_400]],
    run_end_timestamp_seconds: [[1_772_331_182.5]],
    run_duration_seconds: [[782.5]],
    run_warehouse_wait_seconds: [[1.25]],
    published_bytes: Object.entries({ duckdb: 9_437_184, parquet: 4_194_304 }),
  }
  for (const [name, expected] of Object.entries(values)) expect(valuesOf(samples, name)).toEqual(expected)
})

test('an account has every kind and reason, also those without requests or surveys', () => {
  const samples = accountSamples(WAREHOUSE, [accountState()])
  const unread = { sample_source_progress: 0, daily_progress: 0 }
  const requests = { surveys: 2, sample_sources: 0, survey_progress: 240, ...unread }
  expect(valuesOf(samples, 'requests')).toEqual(Object.entries(requests))
  expect(valuesOf(samples, 'requests_saved')).toContainEqual(['survey_progress', 3])
  const queued = { changed: 0, active: 2, inactive: 0, missing: 0, requested: 0 }
  expect(valuesOf(samples, 'queued_surveys')).toEqual(Object.entries(queued))
  const rows = Object.entries({ added: 1, changed: 39, unchanged: 0 })
  expect(valuesOf(samples, 'rows')).toEqual(rows.map((row) => ['surveys', ...row]))
})

test('what is unknown has no sample', () => {
  const account = accountState({ lastCompleteAt: null, oldestActiveRefreshAt: null })
  const samples = accountSamples(WAREHOUSE, [account])
  expect(valuesOf(samples, 'last_complete_run_timestamp_seconds')).toEqual([])
  expect(valuesOf(samples, 'oldest_active_refresh_timestamp_seconds')).toEqual([])
  const failed = runSamples(WAREHOUSE, runEnd({ waitMs: null, report: null }))
  expect(valuesOf(failed, 'run_warehouse_wait_seconds')).toEqual([])
  expect(valuesOf(failed, 'published_bytes')).toEqual([])
})

const whole = (given: Parameters<typeof runEnd>[0] = {}, warehouse = WAREHOUSE) => {
  const end = runEnd(given)
  return [...runSamples(warehouse, end), ...accountSamples(warehouse, end.accounts ?? [])]
}

const named = (samples: ReturnType<typeof runSamples>) => [...new Set(samples.map(({ name }) => name))].sort()

test('nothing of an earlier complete run stays after a complete one', () => {
  expect(stillTrue(whole(), whole())).toEqual([])
})

test('a run that never held the warehouse keeps the accounts, the published bytes and the wait of the earlier one', () => {
  const kept = stillTrue(whole(), whole({ waitMs: null, report: null, accounts: null, exitCode: 6 }))
  const own = ['fieldwork_sync_published_bytes', 'fieldwork_sync_run_warehouse_wait_seconds']
  expect(named(kept)).toEqual([...named(accountSamples(WAREHOUSE, [accountState()])), ...own].sort())
})

test('an account that is gone from the settings is gone from the metrics', () => {
  const two = whole({ accounts: [accountState(), accountState({ account: 'globex' })] })
  expect(stillTrue(two, whole())).toEqual([])
})

test('a replay keeps what is known of the sync, and a sync what is known of the replay', () => {
  const replay = whole({ command: 'replay', accounts: null })
  expect(stillTrue(whole(), replay)).toEqual(whole())
  expect(stillTrue(replay, whole())).toEqual(replay)
})

test('the samples of another warehouse stay until a run that knows its accounts, those of other programs do not', () => {
  const foreign = { name: 'node_load1', labels: { warehouse: WAREHOUSE }, value: 1 }
  const earlier = [...whole({}, '/old'), foreign]
  expect(stillTrue(earlier, whole({ accounts: null, exitCode: 2 }))).toEqual(whole({}, '/old'))
  expect(stillTrue(earlier, whole())).toEqual([])
})
