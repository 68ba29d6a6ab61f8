/**
 * Declares every metric once: name, meaning, labels and values. All are gauges about the last run, because each run is a process of
 * its own. Every metric also has the label `warehouse`. docs/reference/metrics.md is derived from this list.
 */
import { EXITS } from '../../base/errors.js'
import { type Instant, instantToMs } from '../../model/instant.js'
import type { AccountState, RunEnd } from '../../model/monitoring.js'
import { REQUEST_KINDS } from '../../model/request-usage.js'

/** A value and its labels, without those that all samples of its group have. */
interface Value {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export interface Metric<Of> {
  readonly name: string
  /** One sentence for people. */
  readonly help: string
  readonly labels?: readonly string[]
  /** No values if they are unknown. */
  readonly values: (of: Of) => readonly Value[]
}

const one = (value: number | null): readonly Value[] => (value === null ? [] : [{ value }])

const seconds = (at: Instant): number => instantToMs(at) / 1_000

const byLabel = (label: string, values: readonly (readonly [string, number])[]): readonly Value[] =>
  values.map(([key, value]) => ({ labels: { [label]: key }, value }))

const STATUSES = ['complete', 'partial', 'failed'] as const

/** About the last run of each command, also one that failed early. Labels `warehouse` and `command`. */
export const RUN_METRICS: readonly Metric<RunEnd>[] = [
  {
    name: 'fieldwork_sync_build_info',
    help: 'Version of fieldwork-sync that made the last run; always 1',
    labels: ['version'],
    values: ({ version }) => [{ labels: { version }, value: 1 }],
  },
  {
    name: 'fieldwork_sync_run_start_timestamp_seconds',
    help: 'When the last run started',
    values: ({ startedMs }) => one(startedMs / 1_000),
  },
  {
    name: 'fieldwork_sync_run_end_timestamp_seconds',
    help: 'When the last run ended',
    values: ({ endedMs }) => one(endedMs / 1_000),
  },
  {
    name: 'fieldwork_sync_run_duration_seconds',
    help: 'How long the last run took',
    values: ({ durationMs }) => one(durationMs / 1_000),
  },
  {
    name: 'fieldwork_sync_run_warehouse_wait_seconds',
    help: 'How long the last run waited for the warehouse, such as for the lease of a bucket',
    values: ({ waitMs }) => one(waitMs === null ? null : waitMs / 1_000),
  },
  {
    name: 'fieldwork_sync_run_exit_code',
    help: `Exit code of the last run, 0 to ${Math.max(...Object.keys(EXITS).map(Number))}`,
    values: ({ exitCode }) => one(exitCode),
  },
  {
    name: 'fieldwork_sync_run_status',
    help: 'How the last run ended: 1 for its status, 0 for the others',
    labels: ['status'],
    values: ({ status }) =>
      byLabel(
        'status',
        STATUSES.map((each) => [each, each === status ? 1 : 0]),
      ),
  },
  {
    name: 'fieldwork_sync_published_bytes',
    help: 'Size of the state that the last run published',
    labels: ['format'],
    values: ({ report }) =>
      byLabel('format', report?.published.map(({ format, bytes }) => [format, bytes]) ?? []),
  },
]

const ofRun = (pick: (run: AccountState['lastRun']) => number) => (state: AccountState) =>
  one(pick(state.lastRun))

const byKind = (pick: 'requests' | 'saved') => (state: AccountState) =>
  byLabel(
    'kind',
    REQUEST_KINDS.map((kind) => {
      const usage = state.lastRun.requestUsage.filter((each) => each.kind === kind)
      return [kind, usage.reduce((sum, each) => sum + each[pick], 0)]
    }),
  )

/** About each account of the warehouse at the end of the last sync. Labels `warehouse` and `account`. */
export const ACCOUNT_METRICS: readonly Metric<AccountState>[] = [
  {
    name: 'fieldwork_sync_last_complete_run_timestamp_seconds',
    help: 'When the last complete sync ended; absent before the first one',
    values: ({ lastCompleteAt }) => one(lastCompleteAt === null ? null : seconds(lastCompleteAt)),
  },
  {
    name: 'fieldwork_sync_first_run_timestamp_seconds',
    help: 'When the first sync started',
    values: ({ firstRunAt }) => one(seconds(firstRunAt)),
  },
  {
    name: 'fieldwork_sync_account_run_start_timestamp_seconds',
    help: 'When the last sync started',
    values: ({ lastRun }) => one(seconds(lastRun.startedAt)),
  },
  {
    name: 'fieldwork_sync_account_run_end_timestamp_seconds',
    help: 'When the last sync ended',
    values: ({ lastRun }) => one(seconds(lastRun.endedAt)),
  },
  {
    name: 'fieldwork_sync_account_exit_code',
    help: 'Exit code of the account in the last sync',
    values: ofRun(({ exitCode }) => exitCode),
  },
  {
    name: 'fieldwork_sync_requests',
    help: 'Requests that the last sync sent, retries included',
    labels: ['kind'],
    values: byKind('requests'),
  },
  {
    name: 'fieldwork_sync_requests_saved',
    help: 'Requests that the last sync did not send, because their answer was known or not due',
    labels: ['kind'],
    values: byKind('saved'),
  },
  {
    name: 'fieldwork_sync_retries',
    help: 'Requests of the last sync that repeated an earlier one',
    values: ofRun(({ retries }) => retries),
  },
  {
    name: 'fieldwork_sync_refusals',
    help: 'Answers 429 that the last sync got',
    values: ofRun(({ refusals }) => refusals),
  },
  {
    name: 'fieldwork_sync_surveys_listed',
    help: 'Rows in the listing of the last sync, repeats included',
    values: ofRun(({ surveysListed }) => surveysListed),
  },
  {
    name: 'fieldwork_sync_surveys_refreshed',
    help: 'Surveys whose sources and progress the last sync read',
    values: ofRun(({ surveysRefreshed }) => surveysRefreshed),
  },
  {
    name: 'fieldwork_sync_surveys_failed',
    help: 'Surveys that the last sync could not read; they stay queued',
    values: ofRun(({ surveysFailed }) => surveysFailed),
  },
  {
    name: 'fieldwork_sync_left_over_surveys',
    help: 'Surveys that were still queued when the last sync ended',
    values: ofRun(({ leftOver }) => leftOver),
  },
  {
    name: 'fieldwork_sync_rows',
    help: 'Rows that the last sync added, changed, or found unchanged',
    labels: ['table', 'change'],
    values: ({ lastRun }) =>
      Object.entries(lastRun.rowsByTable).flatMap(([table, counts]) =>
        Object.entries(counts).map(([change, value]) => ({ labels: { table, change }, value })),
      ),
  },
  {
    name: 'fieldwork_sync_rejected_rows',
    help: 'Rows that the last sync could not type and put into quarantine',
    values: ofRun(({ rejectedRows }) => rejectedRows),
  },
  {
    name: 'fieldwork_sync_drift_events',
    help: 'Differences from the API document that the last sync met',
    values: ofRun(({ driftEvents }) => driftEvents),
  },
  {
    name: 'fieldwork_sync_new_drift_events',
    help: 'Differences from the API document that the last sync met and no earlier run',
    values: ofRun(({ newDriftEvents }) => newDriftEvents),
  },
  {
    name: 'fieldwork_sync_quarantined_rows',
    help: 'Rejected rows in quarantine that no replay could type',
    values: ({ waitingRows }) => one(waitingRows),
  },
  {
    name: 'fieldwork_sync_queued_surveys',
    help: 'Surveys in the queue, by the reason why they were queued',
    labels: ['reason'],
    values: ({ queued }) => byLabel('reason', Object.entries(queued)),
  },
  {
    name: 'fieldwork_sync_failing_surveys',
    help: 'Surveys in the queue whose last reading failed',
    values: ({ failing }) => one(failing),
  },
  {
    name: 'fieldwork_sync_active_surveys',
    help: 'Active surveys that the API shows',
    values: ({ active }) => one(active),
  },
  {
    name: 'fieldwork_sync_active_surveys_never_refreshed',
    help: 'Active surveys whose progress was never read',
    values: ({ activeNeverRefreshed }) => one(activeNeverRefreshed),
  },
  {
    name: 'fieldwork_sync_oldest_active_refresh_timestamp_seconds',
    help: 'The oldest time at which the progress of an active survey was last read, server time; absent without one',
    values: ({ oldestActiveRefreshAt }) =>
      one(oldestActiveRefreshAt === null ? null : seconds(oldestActiveRefreshAt)),
  },
  {
    name: 'fieldwork_sync_table_rows',
    help: 'Rows in a table',
    labels: ['table'],
    values: ({ tableRows }) => byLabel('table', Object.entries(tableRows)),
  },
]
