/** Made-up ends of runs, for what is reported about them. */
import type { AccountState, RunEnd } from '../../../src/model/monitoring.js'
import { instantOf } from '../time/instants.js'
import { runReport } from '../warehouse/rows.js'

export const runEnd = (given: Partial<RunEnd> = {}): RunEnd => ({
  runId: '20260301T020000Z-5f3a91',
  command: 'sync',
  version: '0.1.0',
  host: 'night-1',
  startedMs: Date.parse('2026-03-01T02:00:00Z'),
  endedMs: Date.parse('2026-03-01T02:13:02.5Z'),
  durationMs: 782_500,
  waitMs: 1_250,
  exitCode: 0,
  status: 'complete',
  report: {
    exitCode: 0,
    status: 'complete',
    accounts: [runReport()],
    published: [
      { format: 'duckdb', path: '/data/fieldwork/fieldwork.duckdb', bytes: 9_437_184 },
      { format: 'parquet', path: '/data/fieldwork/parquet/current', bytes: 4_194_304 },
    ],
    publishError: null,
  },
  error: null,
  accounts: [accountState()],
  catalog: null,
  ...given,
})

export const accountState = (given: Partial<AccountState> = {}): AccountState => ({
  account: 'acme',
  firstRunAt: instantOf('2026-01-01T02:00:00Z'),
  lastCompleteAt: instantOf('2026-03-01T02:13:00Z'),
  startedAt: instantOf('2026-03-01T02:00:00Z'),
  endedAt: instantOf('2026-03-01T02:13:00Z'),
  exitCode: 0,
  requestUsage: [
    { kind: 'surveys', reason: 'listing', requests: 2, saved: 0 },
    { kind: 'survey_progress', reason: 'active', requests: 200, saved: 0 },
    { kind: 'survey_progress', reason: 'changed', requests: 40, saved: 3 },
  ],
  retries: 1,
  rateLimited: 0,
  surveysListed: 40,
  surveysRefreshed: 240,
  surveysFailed: 0,
  leftOver: 0,
  rejectedRows: 0,
  driftEvents: 1,
  newDriftEvents: 0,
  rowsByTable: { surveys: { added: 1, changed: 39, unchanged: 0 } },
  queued: { changed: 0, active: 2, inactive: 0, missing: 0, requested: 0 },
  failing: 2,
  waitingRows: 0,
  active: 200,
  activeNeverRefreshed: 0,
  oldestActiveRefreshAt: instantOf('2026-03-01T02:01:00Z'),
  tableRows: { surveys: 1_000 },
  ...given,
})
