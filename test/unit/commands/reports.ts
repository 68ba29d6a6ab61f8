/** Makes reports of a night's run for the tests of text and JSON. `changes` replaces single fields. */
import type { RunReport, SyncReport } from '../../../src/model/run.js'
import { instantOf } from '../../support/time/instants.js'
import { runReport as anyRunReport } from '../../support/warehouse/rows.js'

export const runReport = (changes: Partial<RunReport> = {}): RunReport =>
  anyRunReport({
    startedAt: instantOf('2026-03-01T02:00:00Z'),
    endedAt: instantOf('2026-03-01T02:12:05.250001Z'),
    listing: 'incremental',
    cursorBefore: instantOf('2026-02-28T01:55:00Z'),
    cursorAfter: instantOf('2026-03-01T01:55:00Z'),
    requests: 1234,
    retries: 2,
    rateLimited: 1,
    surveysListed: 250,
    surveysRefreshed: 212,
    rowsByTable: {
      surveys: { added: 3, changed: 20, unchanged: 227 },
      sample_sources: { added: 7, changed: 0, unchanged: 1_234_567 },
      survey_progress: { added: 3, changed: 200, unchanged: 9 },
      sample_source_progress: { added: 7, changed: 512, unchanged: 0 },
    },
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
