/**
 * Declares every metric once: name, meaning, labels and values. All are gauges about the last run, because each run is a process of
 * its own. Every metric also has the label `warehouse`. docs/reference/metrics.md is derived from this list.
 */
import { EXIT_CODES } from '../../base/errors.js'
import { type Instant, instantToMs } from '../../model/instant.js'
import type { AccountState, RunEnd } from '../../model/monitoring.js'
import { REQUEST_KINDS } from '../../model/request-usage.js'

/** A value and its labels, without the labels that all samples of its group have. */
interface Value {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

interface Declared<Of> {
  /** One sentence for people. */
  readonly help: string
  readonly labels?: readonly string[]
  /** The values of the metric; empty if they are unknown. */
  readonly values: (of: Of) => readonly Value[]
}

export interface Metric<Of> extends Declared<Of> {
  readonly name: string
}

/** Every name begins with `fieldwork_sync_`. */
const named = <Of>(metrics: Readonly<Record<string, Declared<Of>>>): readonly Metric<Of>[] =>
  Object.entries(metrics).map(([name, declared]) => ({ name: `fieldwork_sync_${name}`, ...declared }))

const one = <Of>(help: string, pick: (of: Of) => number | null): Declared<Of> => ({
  help,
  values: (of) => {
    const value = pick(of)
    return value === null ? [] : [{ value }]
  },
})

const byLabel = <Of>(
  label: string,
  help: string,
  pick: (of: Of) => Readonly<Record<string, number>>,
): Declared<Of> => ({
  help,
  labels: [label],
  values: (of) => Object.entries(pick(of)).map(([key, value]) => ({ labels: { [label]: key }, value })),
})

const seconds = (at: Instant | null): number | null => (at === null ? null : instantToMs(at) / 1_000)

/** About the last run of each command, also one that failed early. Labels `warehouse` and `command`. */
export const RUN_METRICS = named<RunEnd>({
  build_info: byLabel(
    'version',
    'Version of fieldwork-sync that made the last run; always 1',
    ({ version }) => ({ [version]: 1 }),
  ),
  run_start_timestamp_seconds: one('When the last run started', ({ startedMs }) => startedMs / 1_000),
  run_end_timestamp_seconds: one('When the last run ended', ({ endedMs }) => endedMs / 1_000),
  run_duration_seconds: one('How long the last run took', ({ durationMs }) => durationMs / 1_000),
  run_warehouse_wait_seconds: one(
    'How long the last run waited for the warehouse, such as for the lease of a bucket',
    ({ waitMs }) => (waitMs === null ? null : waitMs / 1_000),
  ),
  run_exit_code: one(
    `Exit code of the last run, 0 to ${Math.max(...Object.values(EXIT_CODES))}`,
    ({ exitCode }) => exitCode,
  ),
  run_status: byLabel(
    'status',
    'How the last run ended: 1 for its status, 0 for the others',
    ({ status }) => ({ complete: 0, partial: 0, failed: 0, [status]: 1 }),
  ),
  published_bytes: byLabel('format', 'Size of the state that the last run published', ({ report }) =>
    Object.fromEntries(report?.published.map(({ format, bytes }) => [format, bytes]) ?? []),
  ),
})

type Count = {
  [Name in keyof AccountState]: AccountState[Name] extends number ? Name : never
}[keyof AccountState]

const counted = (count: Count, help: string) => one<AccountState>(help, (state) => state[count])

const byKind = (pick: 'requests' | 'saved', help: string) =>
  byLabel<AccountState>('kind', help, ({ requestUsage }) =>
    Object.fromEntries(
      REQUEST_KINDS.map((kind) => {
        const usage = requestUsage.filter((each) => each.kind === kind)
        return [kind, usage.reduce((sum, each) => sum + each[pick], 0)]
      }),
    ),
  )

/** About each account of the warehouse at the end of the last sync. Labels `warehouse` and `account`. */
export const ACCOUNT_METRICS = named<AccountState>({
  last_complete_run_timestamp_seconds: one(
    'When the last complete sync ended; absent before the first one',
    ({ lastCompleteAt }) => seconds(lastCompleteAt),
  ),
  first_run_timestamp_seconds: one('When the first sync started', ({ firstRunAt }) => seconds(firstRunAt)),
  account_run_start_timestamp_seconds: one('When the last sync started', ({ startedAt }) =>
    seconds(startedAt),
  ),
  account_run_end_timestamp_seconds: one('When the last sync ended', ({ endedAt }) => seconds(endedAt)),
  account_exit_code: counted('exitCode', 'Exit code of the account in the last sync'),
  requests: byKind('requests', 'Requests that the last sync sent, retries included'),
  requests_saved: byKind(
    'saved',
    'Requests that the last sync did not send, because their answer was known or not due',
  ),
  retries: counted('retries', 'Requests of the last sync that repeated an earlier one'),
  rate_limited: counted('rateLimited', 'Answers 429 that the last sync got'),
  surveys_listed: counted('surveysListed', 'Rows in the listing of the last sync, repeats included'),
  surveys_refreshed: counted('surveysRefreshed', 'Surveys whose sources and progress the last sync read'),
  surveys_failed: counted('surveysFailed', 'Surveys that the last sync could not read; they stay queued'),
  left_over_surveys: counted('leftOver', 'Surveys that were still queued when the last sync ended'),
  rows: {
    help: 'Rows that the last sync added, changed, or found unchanged',
    labels: ['table', 'change'],
    values: ({ rowsByTable }) =>
      Object.entries(rowsByTable).flatMap(([table, counts]) =>
        Object.entries(counts).map(([change, value]) => ({ labels: { table, change }, value })),
      ),
  },
  rejected_rows: counted('rejectedRows', 'Rows that the last sync could not type and put into quarantine'),
  drift_events: counted('driftEvents', 'Differences from the API document that the last sync met'),
  new_drift_events: counted(
    'newDriftEvents',
    'Differences from the API document that the last sync met and no earlier run',
  ),
  quarantined_rows: counted('waitingRows', 'Rejected rows in quarantine that no replay could type'),
  queued_surveys: byLabel(
    'reason',
    'Surveys in the queue, by the reason why they were queued',
    ({ queued }) => queued,
  ),
  failing_surveys: counted('failing', 'Surveys in the queue whose last reading failed'),
  active_surveys: counted('active', 'Active surveys that the API shows, without excluded ones'),
  active_surveys_never_refreshed: counted(
    'activeNeverRefreshed',
    'Active surveys whose progress was never read',
  ),
  oldest_active_refresh_timestamp_seconds: one(
    'The oldest time at which the progress of an active survey was last read, server time; absent without one',
    ({ oldestActiveRefreshAt }) => seconds(oldestActiveRefreshAt),
  ),
  table_rows: byLabel('table', 'Rows in a table', ({ tableRows }) => tableRows),
})
