/**
 * A command whose run is reported: log and progress on stderr, `notify` at its start and end, `metrics` at its end, and what it prints. A
 * report never changes how the run ends.
 */
import { hostname } from 'node:os'
import { startSpan, systemClock } from '../base/clock.js'
import { EXIT_CODES } from '../base/errors.js'
import type { Log } from '../base/log.js'
import { createRedactor } from '../base/secret.js'
import { packageVersion } from '../base/version.js'
import { createLog } from '../logging/log.js'
import { createProgressBar, createProgressLog, type Progress, type UsageOf } from '../logging/progress.js'
import { createStatusLine, createTerminal } from '../logging/stderr.js'
import type { Catalog, Monitoring, RunEnd } from '../model/monitoring.js'
import type { RunCommand, SyncReport } from '../model/run.js'
import { ALL_TABLES } from '../model/sync-tables.js'
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
import { type CliContext, newRunId, type Work } from './context.js'
import { reportError } from './report-error.js'
import { jsonOf } from './text/json.js'
import { errorCodeOf, reasonOf } from './text/run-lines.js'
import type { RunWatch } from './warehouse-run.js'

/** Logs the proxies. After this call, tokens of the settings are redacted in the log and in reported errors. */
export const openTelemetry = async (
  settings: SettingsWithSecrets & Pick<Settings, 'log_level' | 'json'>,
  { env, stdout, stderr, protect, logsAs }: CliContext,
) => {
  const secrets = secretsOf(settings)
  protect(secrets)
  const redact = createRedactor(secrets)
  const { redraw, colour } = terminalFeatures(env, stderr)
  const { prettyStream } = stderr.isTTY ? await import('../logging/pretty.js') : { prettyStream: null }
  const line = createStatusLine(createTerminal())
  const runId = newRunId(systemClock.nowMs())
  logsAs({ level: settings.log_level, runId })
  const log = createLog({
    runId,
    level: settings.log_level,
    stream: line,
    pretty: prettyStream && ((lines) => prettyStream(lines, colour)),
    redact,
  })
  logProxies(settings.accounts, log)
  const accounts = settings.accounts.map(({ name }) => name)
  const shown = { clock: systemClock, line, accounts, columns: () => stderr.columns }
  return {
    runId,
    log,
    /** Replaces the secrets of the settings in a text. */
    redact,
    /** Whether stdout may be coloured. */
    colour: terminalFeatures(env, stdout).colour,
    /** Shows the progress of a run: a bar on a terminal, log lines elsewhere. */
    progress: (usage: UsageOf): Progress =>
      redraw && !settings.json
        ? createProgressBar({ ...shown, usage })
        : createProgressLog({ log, clock: systemClock, usage }),
  }
}

/** Logs each proxy and its accounts when a command starts, so that people see which path the requests take. */
const logProxies = (accounts: readonly AccountSettings[], log: Log): void => {
  const label = ({ proxy }: AccountSettings) => proxy && `${proxy.address} (${proxy.variable})`
  for (const proxy of new Set(accounts.flatMap((account) => label(account) ?? [])))
    log.info(
      { accounts: accounts.filter((account) => label(account) === proxy).map(({ name }) => name) },
      `requests go through the proxy ${proxy}`,
    )
}

/** A run of `sync` or `replay` with its settings. It passes the watch to `runAndPublish`: null if nothing is reported. */
export interface MonitoredRun extends Work, Pick<Awaited<ReturnType<typeof openTelemetry>>, 'progress'> {
  readonly watch: RunWatch | null
}

export interface Summary {
  /** Milliseconds since the command started. */
  readonly elapsedMs?: number
  /** Whether the last line gets terminal colours. */
  readonly colour?: boolean
}

interface MonitoredCommand {
  readonly run: (work: MonitoredRun) => Promise<SyncReport>
  /** The summary, with a newline at its end. */
  readonly render: (report: SyncReport, summary: Summary) => string
}

/** `load` loads DuckDB and the HTTP client. If that fails, it is reported like any other failed run. */
export const monitoredCommand = async (
  context: CliContext,
  command: RunCommand,
  request: Omit<SettingsRequest, 'env' | 'signal'>,
  load: () => Promise<MonitoredCommand>,
): Promise<void> => {
  const { signal, exit, print, tell } = context
  const startedMs = systemClock.monotonicMs()
  const settings = await loadMonitoredSettings(context, command, request)
  const { runId, log, colour, progress, redact } = await openTelemetry(settings, context)
  const { metrics, notify, storage, warehouseDirectory, foundFile, warnings } = settings
  if (foundFile !== null) log.info({}, foundFile)
  for (const warning of warnings) log.warn({}, warning)
  const warehouse = storage === null ? warehouseDirectory : storageAddress(storage)
  const monitoring = { warehouse, metrics, notify }
  const monitored = { monitoring, command, settings, runId, log, signal, redact }
  let elapsedMs = 0
  const report = await withReports(monitored, async (watch) => {
    const ended = await (await load()).run({ settings, runId, log, signal, watch, progress })
    elapsedMs = systemClock.monotonicMs() - startedMs
    return ended
  })
  // The summary comes last, behind warnings about reports.
  const { render } = await load()
  exit(report.exitCode, { reason: reasonOf(report), errorCode: errorCodeOf(report), isRun: true })
  // Both texts quote values from the API, and a value may contain a token.
  if (settings.json) await print(redact(`${jsonOf(report)}\n`))
  else await tell(redact(render(report, { elapsedMs, colour })))
}

/** Like `loadSettings`. Wrong settings are reported as well, if the settings of the reports are right. */
const loadMonitoredSettings = async (
  context: CliContext,
  command: RunCommand,
  request: Omit<SettingsRequest, 'env' | 'signal'>,
): Promise<Settings> => {
  const { env, signal } = context
  try {
    return await loadSettings({ withReports: true, ...request, mayFindFile: true, env, signal })
  } catch (error) {
    const monitoring = error instanceof SettingsError ? error.monitoring : null
    if (monitoring === null || (monitoring.metrics === null && monitoring.notify === null)) throw error
    const settings = { ...monitoring, accounts: [], storage: null, log_level: 'info', json: true } as const
    const { runId, log, redact } = await openTelemetry(settings, context)
    const fails = (): Promise<never> => Promise.reject(error)
    return await withReports({ monitoring, command, settings: null, runId, log, signal, redact }, fails)
  }
}

interface Monitored extends Omit<Work, 'settings'> {
  readonly monitoring: Monitoring
  readonly command: RunCommand
  /** Null if they are wrong, so that the run reads and publishes nothing. */
  readonly settings: Settings | null
  readonly redact: (text: string) => string
}

/** Reports start and end of `run`, also if it rejects. */
const withReports = async <Report extends SyncReport>(
  { monitoring, command, settings, runId, redact, ...reporting }: Monitored,
  run: (watch: RunWatch | null) => Promise<Report>,
): Promise<Report> => {
  if (monitoring.metrics === null && monitoring.notify === null) return await run(null)
  // This import loads the HTTP client.
  const { createRunReports } = await import('../monitoring/run-reports.js')
  const baseUrls = settings?.accounts.map(({ baseUrl }) => baseUrl) ?? []
  const reports = createRunReports({ ...reporting, redact, monitoring, baseUrls, clock: systemClock })
  const start = { command, version: packageVersion(), host: hostname() }
  const [{ startedMs, endMs }, monotonicMs] = [startSpan(systemClock), systemClock.monotonicMs()]
  // Read for metrics and digests while the database is open.
  let waitMs: number | null = null
  let accounts: RunEnd['accounts'] = null
  const watch: RunWatch = {
    held: (afterMs) => {
      waitMs = afterMs
    },
    // The next sync tells the channels what a replay changed.
    committed: async (run) => {
      const targets = monitoring.notify?.digest ?? null
      if (command !== 'sync' || targets === null || settings === null) return
      const { tellDigests } = await import('./monitored-run/digests.js')
      await tellDigests({ ...run, targets, page: settings.report, redact, log: reporting.log })
    },
    published: async (database) => {
      // The settings of a replay have no accounts. The next sync reports what the replay changed.
      if (command !== 'sync' || monitoring.metrics === null) return
      const { readAccountStates } = await import('../warehouse/history/account-states.js')
      try {
        accounts = await database.exclusively((sql) => readAccountStates(sql, settings?.accountNames ?? []))
      } catch (error) {
        reporting.log.warn({ err: error }, 'the metrics of the accounts could not be read')
      }
    },
  }
  const ended = async (outcome: Pick<RunEnd, 'exitCode' | 'status' | 'report' | 'error'>): Promise<void> => {
    const durationMs = systemClock.monotonicMs() - monotonicMs
    const endedMs = endMs()
    // What a webhook gets: how the run ended, with the report that `--json` prints.
    const [startedAt, endedAt] = [startedMs, endedMs].map((ms) => new Date(ms).toISOString())
    const document = redact(jsonOf({ ...start, ...outcome, startedAt, endedAt }))
    const hasEvents = (monitoring.notify?.openlineage ?? null) !== null && outcome.report !== null
    const catalog = hasEvents && settings !== null ? await readCatalog(settings) : null
    const end = { ...start, runId, startedMs, endedMs, durationMs, ...outcome, waitMs, accounts, catalog }
    await reports.ended(end, document)
  }
  reports.started({ ...start, runId, startedMs })
  try {
    const report = await run(watch)
    await ended({ exitCode: report.exitCode, status: report.status, report, error: null })
    return report
  } catch (thrown) {
    const { exitCode, json } = reportError(thrown)
    const error = { ...json.error, message: redact(json.error.message) }
    const status = exitCode === EXIT_CODES.partial ? 'partial' : 'failed'
    await ended({ exitCode, status, report: null, error })
    throw thrown
  }
}

/** This import loads DuckDB, which a run with a report has loaded. */
const readCatalog = async ({ publish }: Settings): Promise<Catalog> => {
  const { ALL_VIEWS } = await import('../warehouse/views/all.js')
  const tables = ALL_TABLES.filter(({ schema }) => schema === 'main')
  const views = ALL_VIEWS.filter(({ name }) => publish.views.some((view) => view === name))
  return { relations: [...tables, ...ALL_VIEWS], inFiles: [...tables, ...views] }
}
