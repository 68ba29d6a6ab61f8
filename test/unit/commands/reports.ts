/** Makes run reports for the tests of text and JSON. `changes` replaces single fields. */
import { parseInstant } from '../../../src/model/instant.js'
import type { RunReport, SyncReport } from '../../../src/model/run.js'
import { zeroCounters } from '../../../src/model/run-record.js'

const at = (text: string) => parseInstant(text) ?? 0n

export const runReport = (changes: Partial<RunReport> = {}): RunReport => ({
  ...zeroCounters(),
  runId: 'run-1',
  account: 'acme',
  command: 'sync',
  status: 'complete',
  exitCode: 0,
  hasFailures: false,
  reason: null,
  startedAt: at('2026-03-01T02:00:00Z'),
  endedAt: at('2026-03-01T02:12:05.250001Z'),
  listing: 'incremental',
  cursorBefore: at('2026-02-28T01:55:00Z'),
  cursorAfter: at('2026-03-01T01:55:00Z'),
  requests: 1234,
  retries: 2,
  refusals: 1,
  paceIntervalMs: null,
  surveysListed: 250,
  surveysRefreshed: 212,
  leftOver: 0,
  failing: 0,
  failingSurveys: [],
  rejectedRows: 0,
  driftEvents: 0,
  drift: [],
  rejections: [],
  requestsEstimated: null,
  requestUsage: [],
  rowsByTable: {
    surveys: { added: 3, changed: 20, unchanged: 227 },
    sample_sources: { added: 7, changed: 0, unchanged: 1_234_567 },
    survey_progress: { added: 3, changed: 200, unchanged: 9 },
    sample_source_progress: { added: 7, changed: 512, unchanged: 0 },
  },
  replayed: null,
  ...changes,
})

export const syncReport = (changes: Partial<SyncReport> = {}): SyncReport => ({
  exitCode: 0,
  status: 'complete',
  accounts: [runReport()],
  published: [{ format: 'duckdb', path: '/data/warehouse/fieldwork.duckdb', bytes: 2_621_440 }],
  publishError: null,
  ...changes,
})
