/** A run that is reported to machines: `notify` at its start and end, `metrics` at its end. No report changes how the run ends. */
import { hostname } from 'node:os'
import { startSpan, systemClock } from '../base/clock.js'
import { EXIT_CODES } from '../base/errors.js'
import type { Log } from '../base/log.js'
import { createRedactor } from '../base/secret.js'
import { packageVersion } from '../base/version.js'
import { createLog } from '../logging/log.js'
import { createProgressBar, createProgressLog, type Progress, type UsageOf } from '../logging/progress.js'
import { createStatusLine } from '../logging/status-line.js'
import { createStderr } from '../logging/stderr.js'
import type { AccountState, Monitoring, RunEnd } from '../model/monitoring.js'
import type { RunCommand, SyncReport } from '../model/run.js'
import { terminalFeatures } from '../settings/environment.js'
import { loadSettings, type SettingsRequest } from '../settings/load-settings.js'
import { SettingsError } from '../settings/problems.js'
import {
  type AccountSettings,
  type Settings,
  type SettingsWithSecrets,
  secretsOf,
} from '../settings/settings.js'
import { storageAddress } from '../settings/storage.js'
import type { CliContext } from './context.js'
import { type ReportedError, reportError } from './report-error.js'
import { jsonOf } from './text/json.js'
import type { RunWatch } from './warehouse-run.js'

interface MonitoredRun {
  readonly settings: Settings
  readonly command: RunCommand
  readonly log: Log
  readonly signal: AbortSignal
}

/** `run` gets a watch if there are metrics, and passes it to `runAndPublish`. */
export const monitored = async (
  { settings, command, log, signal }: MonitoredRun,
  run: (watch: RunWatch | null) => Promise<SyncReport>,
): Promise<SyncReport> => {
  const { metrics, notify, storage, warehouseDirectory } = settings
  if (metrics === null && notify === null) return await run(null)
  const warehouse = storage === null ? warehouseDirectory : storageAddress(storage)
  const redact = createRedactor(secretsOf(settings))
  const reports = await startReports({ warehouse, metrics, notify }, { command, log, signal, redact })
  const watched = metrics === null ? null : watchFor(settings, command, log)
  const seen = () => watched?.seen() ?? NOTHING_SEEN
  try {
    const report = await run(watched?.watch ?? null)
    await reports.ended({ ...report, report, error: null, ...seen() })
    return report
  } catch (error) {
    await reports.ended({ ...failureOf(error, redact), ...seen() })
    throw error
  }
}

/** Like `loadSettings`. Wrong settings are reported as well, if the settings about that are right. */
export const loadMonitoredSettings = async (
  context: CliContext,
  command: RunCommand,
  request: Omit<SettingsRequest, 'env' | 'signal'>,
): Promise<Settings> => {
  try {
    return await loadSettings({ ...request, withReports: true, env: context.env, signal: context.signal })
  } catch (error) {
    const monitoring = error instanceof SettingsError ? error.monitoring : null
    if (monitoring === null || (monitoring.metrics === null && monitoring.notify === null)) throw error
    const settings = { ...monitoring, accounts: [], storage: null, logLevel: 'info', json: true } as const
    const { log } = await openTelemetry(settings, context)
    const redact = createRedactor(secretsOf(settings))
    const reports = await startReports(monitoring, { command, log, signal: context.signal, redact })
    await reports.ended({ ...failureOf(error, redact), ...NOTHING_SEEN })
    throw error
  }
}

interface Seen {
  readonly waitMs: number | null
  readonly accounts: readonly AccountState[] | null
}

const NOTHING_SEEN: Seen = { waitMs: null, accounts: null }

/** How a run ended, apart from its times. */
type End = Pick<RunEnd, 'exitCode' | 'status' | 'report' | 'error'> & Seen

interface Reporting extends Omit<MonitoredRun, 'settings'> {
  readonly redact: (text: string) => string
}

const startReports = async (
  monitoring: Monitoring,
  { command, ...reporting }: Reporting,
): Promise<{ readonly ended: (end: End) => Promise<void> }> => {
  // The HTTP client is loaded only with it.
  const { createRunReports } = await import('../monitoring/run-reports.js')
  const reports = createRunReports({ ...reporting, monitoring, clock: systemClock })
  const run = { command, version: packageVersion(), host: hostname() }
  const [{ startedMs, endMs }, monotonicMs] = [startSpan(systemClock), systemClock.monotonicMs()]
  reports.started(run)
  return {
    ended: async ({ exitCode, status, report, error, ...seen }) => {
      const durationMs = systemClock.monotonicMs() - monotonicMs
      const times = { startedMs, endedMs: endMs(), durationMs }
      const outcome = { exitCode, status, report, error }
      const document = documentOf({ ...run, ...times, ...outcome })
      await reports.ended({ ...run, ...times, ...outcome, ...seen }, reporting.redact(document))
    },
  }
}

/** What a webhook gets as JSON: how the run ended, with the report that `--json` prints. */
const documentOf = ({ startedMs, endedMs, durationMs: _, ...end }: Omit<RunEnd, keyof Seen>): string =>
  jsonOf({
    ...end,
    startedAt: new Date(startedMs).toISOString(),
    endedAt: new Date(endedMs).toISOString(),
  })

const failureOf = (error: unknown, redact: (text: string) => string): Omit<End, keyof Seen> => {
  const { exitCode, json }: ReportedError = reportError(error)
  const status = exitCode === EXIT_CODES.partial ? 'partial' : 'failed'
  return { exitCode, status, report: null, error: { ...json.error, message: redact(json.error.message) } }
}

/** Reads what the metrics need while the database is open. */
const watchFor = ({ accountNames }: Settings, command: RunCommand, log: Log) => {
  let seen = NOTHING_SEEN
  const watch: RunWatch = {
    held: (waitMs) => {
      seen = { ...seen, waitMs }
    },
    published: async (database) => {
      // The settings of a replay have no accounts. The next sync reports what it changed.
      if (command !== 'sync') return
      const { readAccountStates } = await import('../warehouse/history/account-states.js')
      try {
        const accounts = await database.exclusively((sql) => readAccountStates(sql, accountNames))
        seen = { ...seen, accounts }
      } catch (error) {
        log.warn({ err: error }, 'the metrics of the accounts could not be read')
      }
    },
  }
  return { watch, seen: () => seen }
}

/** The log and the progress of a command, on stderr. */

export interface CommandTelemetry {
  readonly log: Log
  /** Shows the progress of a run: a bar on a terminal, log lines elsewhere. */
  progress(usage: UsageOf): Progress
  /** Whether stdout may be coloured. */
  readonly colour: boolean
}

/** After this call, tokens of the settings are redacted in the log and in reported errors. */
export const openTelemetry = async (
  settings: SettingsWithSecrets & Pick<Settings, 'logLevel' | 'json'>,
  context: CliContext,
): Promise<CommandTelemetry> => {
  const secrets = secretsOf(settings)
  context.protect(secrets)
  const { redraw, colour } = terminalFeatures(context.env, context.stderr)
  const line = createStatusLine(createStderr())
  const log = createLog({
    level: settings.logLevel,
    stream: line,
    pretty: context.stderr.isTTY ? (await import('../logging/pretty.js')).prettyLines(colour) : null,
    redact: createRedactor(secrets),
  })
  return {
    log,
    colour: terminalFeatures(context.env, context.stdout).colour,
    progress: (usage) =>
      redraw && !settings.json
        ? createProgressBar({
            line,
            clock: systemClock,
            usage,
            accounts: settings.accounts.map(({ name }) => name),
            columns: () => context.stderr.columns,
          })
        : createProgressLog({ log, clock: systemClock, usage }),
  }
}

/** Logs each proxy and its accounts when a command starts, so that people see which path the requests take. */

export const logProxies = (accounts: readonly AccountSettings[], log: Log): void => {
  const byProxy = new Map<string, string[]>()
  for (const { name, proxy } of accounts) {
    if (proxy === null) continue
    const label = `${proxy.address} (${proxy.variable})`
    byProxy.set(label, [...(byProxy.get(label) ?? []), name])
  }
  for (const [label, names] of byProxy)
    log.info({ accounts: names }, `requests go through the proxy ${label}`)
}
