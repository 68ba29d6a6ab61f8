/**
 * What people and machines see of a run: log and progress on stderr, `notify` at its start and end, `metrics` at its end. No report
 * changes how the run ends.
 */
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
import type { Monitoring, RunEnd } from '../model/monitoring.js'
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
import { reportError } from './report-error.js'
import { jsonOf } from './text/json.js'
import type { RunWatch } from './warehouse-run.js'

export interface CommandTelemetry {
  readonly log: Log
  /** Shows the progress of a run: a bar on a terminal, log lines elsewhere. */
  progress(usage: UsageOf): Progress
  /** Whether stdout may be coloured. */
  readonly colour: boolean
}

/** After this call, tokens of the settings are redacted in the log and in reported errors. */
export const openTelemetry = async (
  settings: SettingsWithSecrets & Pick<Settings, 'log_level' | 'json'>,
  context: CliContext,
): Promise<CommandTelemetry> => {
  const { env, stdout, stderr } = context
  const secrets = secretsOf(settings)
  context.protect(secrets)
  const { redraw, colour } = terminalFeatures(env, stderr)
  const line = createStatusLine(createStderr())
  const log = createLog({
    level: settings.log_level,
    stream: line,
    pretty: stderr.isTTY ? (await import('../logging/pretty.js')).prettyLines(colour) : null,
    redact: createRedactor(secrets),
  })
  const accounts = settings.accounts.map(({ name }) => name)
  const shown = { clock: systemClock, line, accounts, columns: () => stderr.columns }
  return {
    log,
    colour: terminalFeatures(env, stdout).colour,
    progress: (usage) =>
      redraw && !settings.json
        ? createProgressBar({ ...shown, usage })
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
  const { metrics, notify, storage, warehouseDirectory, accountNames } = settings
  if (metrics === null && notify === null) return await run(null)
  const warehouse = storage === null ? warehouseDirectory : storageAddress(storage)
  const redact = createRedactor(secretsOf(settings))
  const ended = await startReports({ warehouse, metrics, notify }, { command, log, signal, redact })
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
  try {
    const report = await run(metrics === null ? null : watch)
    const { exitCode, status } = report
    await ended({ exitCode, status, report, error: null }, seen)
    return report
  } catch (error) {
    await ended(failureOf(error, redact), seen)
    throw error
  }
}

/** Like `loadSettings`. Wrong settings are reported as well, if the settings about that are right. */
export const loadMonitoredSettings = async (
  context: CliContext,
  command: RunCommand,
  request: Omit<SettingsRequest, 'env' | 'signal'>,
): Promise<Settings> => {
  const { env, signal } = context
  try {
    return await loadSettings({ ...request, withReports: true, env, signal })
  } catch (error) {
    const monitoring = error instanceof SettingsError ? error.monitoring : null
    if (monitoring === null || (monitoring.metrics === null && monitoring.notify === null)) throw error
    const settings = { ...monitoring, accounts: [], storage: null, log_level: 'info', json: true } as const
    const { log } = await openTelemetry(settings, context)
    const redact = createRedactor(secretsOf(settings))
    const ended = await startReports(monitoring, { command, log, signal, redact })
    await ended(failureOf(error, redact), NOTHING_SEEN)
    throw error
  }
}

/** What the metrics need while the database is open. */
type Seen = Pick<RunEnd, 'waitMs' | 'accounts'>
const NOTHING_SEEN: Seen = { waitMs: null, accounts: null }

type Outcome = Pick<RunEnd, 'exitCode' | 'status' | 'report' | 'error'>

interface Reporting extends Omit<MonitoredRun, 'settings'> {
  readonly redact: (text: string) => string
}

/** Call what it returns at the end of the run. */
const startReports = async (monitoring: Monitoring, { command, ...reporting }: Reporting) => {
  // The HTTP client is loaded only with it.
  const { createRunReports } = await import('../monitoring/run-reports.js')
  const reports = createRunReports({ ...reporting, monitoring, clock: systemClock })
  const run = { command, version: packageVersion(), host: hostname() }
  const [{ startedMs, endMs }, monotonicMs] = [startSpan(systemClock), systemClock.monotonicMs()]
  reports.started(run)
  return async (outcome: Outcome, seen: Seen): Promise<void> => {
    const durationMs = systemClock.monotonicMs() - monotonicMs
    const endedMs = endMs()
    // What a webhook gets: how the run ended, with the report that `--json` prints.
    const [startedAt, endedAt] = [startedMs, endedMs].map((ms) => new Date(ms).toISOString())
    const document = jsonOf({ ...run, ...outcome, startedAt, endedAt })
    const end = { ...run, startedMs, endedMs, durationMs, ...outcome, ...seen }
    await reports.ended(end, reporting.redact(document))
  }
}

const failureOf = (error: unknown, redact: (text: string) => string): Outcome => {
  const { exitCode, json } = reportError(error)
  const status = exitCode === EXIT_CODES.partial ? 'partial' : 'failed'
  return { exitCode, status, report: null, error: { ...json.error, message: redact(json.error.message) } }
}
