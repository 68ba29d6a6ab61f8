/** A run that writes to the warehouse: holds its storage, does the work, and publishes the committed rows. Opens the API of an account. */
import { type Clock, type Span, startSpan, systemClock } from '../base/clock.js'
import { EXIT_CODES, messageOf } from '../base/errors.js'
import { createRedactor } from '../base/secret.js'
import { createHttpClient, type HttpLimits } from '../http/client.js'
import type { CreateTransport } from '../http/transport.js'
import type { RunCommand, RunObserver, RunReport, SyncReport } from '../model/run.js'
import type { OpenStore } from '../object-store/open.js'
import { type AccountSettings, secretsOf } from '../settings/settings.js'
import type { Ending } from '../storage/last-run.js'
import { holdStorage } from '../storage/open.js'
import type { Storage } from '../storage/storage.js'
import { createSurveySource, LIST_PATH } from '../survey-api/survey-source.js'
import { worstOf } from '../sync/outcome.js'
import { publishAll, shutdownDeadlineAfter } from '../sync/publish.js'
import { accountWarehouse } from '../warehouse/account-warehouse.js'
import type { Database } from '../warehouse/connection/database.js'
import { storeAlarmLevels } from '../warehouse/history/alarm-levels.js'
import { storeForecasts } from '../warehouse/history/forecasts.js'
import { storeTimeZone } from '../warehouse/history/time-zone.js'
import type { Work } from './context.js'
import { reportError } from './report-error.js'
import { errorCodeOf, reasonOf } from './text/run-lines.js'

interface WarehouseRun extends Work {
  readonly command: RunCommand
  readonly observer: RunObserver
  /** Watches the run for its metrics; null without metrics. */
  readonly watch?: RunWatch | null | undefined
  /** The object store, by default a real one; the simulation passes its own. */
  readonly openStore?: OpenStore | undefined
}

export interface RunWatch {
  /** The run holds the warehouse, after it waited `waitMs`, such as for the lease of a bucket. */
  held(waitMs: number): void
  /** The rows of the run are committed, and published next. No signal has stopped the run; `run.signal` aborts at a signal. */
  committed(run: CommittedRun): Promise<void>
  /** The run has published. The database is still open. */
  published(database: Database): Promise<void>
}

export interface CommittedRun {
  readonly database: Database
  readonly runId: string
  readonly signal: AbortSignal
}

interface OpenRun {
  readonly database: Database
  readonly storage: Pick<Storage, 'signal' | 'requireHeld'>
}

/**
 * Throws a `WarehouseError` or a bug; every other failure is in the report. The end of the run is recorded where `status` finds it. If the
 * record fails, the report or the error says so.
 */
export const runAndPublish = async (
  options: WarehouseRun,
  work: (run: OpenRun) => Promise<readonly RunReport[]>,
): Promise<SyncReport> => {
  const { settings, command, runId, log, observer, signal, openStore } = options
  const clock = systemClock
  using shutdown = shutdownDeadlineAfter(signal, clock)
  const span = startSpan(clock)
  const startedMs = clock.monotonicMs()
  await using storage = await holdStorage({ settings, command, runId, log, observer, signal, openStore })
  const waitMs = clock.monotonicMs() - startedMs
  const recordEnd = endRecorder(options, storage, span)
  try {
    const { database: opened, publishers } = await storage.openWarehouse()
    await using database = opened
    await storeShared(database, options, clock.nowMs())
    options.watch?.held(waitMs)
    const reports = await work({ database, storage })
    if (!storage.signal.aborted) await storeForecasts(database)
    if (!storage.signal.aborted) await options.watch?.committed({ database, runId, signal: storage.signal })
    const report = await publishAll({
      publishers,
      reports,
      signal: shutdown.forWorkFromNow(),
      finishRun: (report) => accountWarehouse(database, report.account).finishRun(report),
      observer,
      log,
    })
    await options.watch?.published(database)
    const problem = await recordEnd({
      exitCode: report.exitCode,
      reason: report.publishError ?? reasonOf(report),
      errorCode: errorCodeOf(report),
      isPublished: report.publishError === null && report.exitCode === worstOf(reports).exitCode,
    })
    return problem === null ? report : withReason(report, problem)
  } catch (error) {
    const { exitCode, json } = reportError(error)
    const { code, message } = json.error
    const problem = await recordEnd({ exitCode, reason: message, errorCode: code, isPublished: false })
    if (problem !== null && error instanceof Error) error.message = `${error.message}; ${problem}`
    throw error
  }
}

/**
 * Stores the settings that readers share. A replay keeps those of the last sync: it needs no settings file, and then would store the
 * defaults.
 */
const storeShared = async (
  database: Database,
  { settings, command, log }: Pick<WarehouseRun, 'settings' | 'command' | 'log'>,
  nowMs: number,
): Promise<void> => {
  const isReplay = command === 'replay'
  const timeZone = isReplay ? null : settings.time_zone
  const before = await storeTimeZone(database, timeZone, nowMs)
  if (before !== null)
    log.warn({ before, timeZone }, 'the days of all readings are computed again in another time zone')
  if (!isReplay) await storeAlarmLevels(database, settings.alarms)
}

/** The returned function resolves to a problem to report if the end could not be recorded, otherwise to null. The log has the reason. */
const endRecorder = ({ settings, log }: WarehouseRun, storage: Pick<Storage, 'recordEnd'>, span: Span) => {
  const redact = createRedactor(secretsOf(settings))
  return async (end: Omit<Ending, 'startedMs' | 'endedMs'>): Promise<string | null> => {
    // Wrong settings say nothing about the warehouse.
    if (end.exitCode === EXIT_CODES.usage) return null
    const reason = end.reason === null ? null : redact(end.reason)
    try {
      await storage.recordEnd({ ...end, reason, startedMs: span.startedMs, endedMs: span.endMs() })
      return null
    } catch (error) {
      log.warn({ problem: messageOf(error) }, 'the end of the run could not be recorded')
      return 'status cannot show this end'
    }
  }
}

/** Adds a problem to the reasons, which the last line prints for a run that is not complete. */
const withReason = (report: SyncReport, problem: string): SyncReport => ({
  ...report,
  accounts: report.accounts.map((run) => ({
    ...run,
    reason: run.reason === null ? null : `${run.reason}; ${problem}`,
  })),
})

interface SourceOptions extends Pick<Work, 'settings' | 'log'> {
  readonly account: AccountSettings
  /** Only the holder of the warehouse may open its request ledger, and send requests. */
  readonly storage: Pick<Storage, 'requireHeld'>
  /** By default the limits of the settings. */
  readonly limits?: HttpLimits
  /** Whether an earlier run was answered at this address. */
  readonly wasAnswered?: boolean
  readonly clock?: Clock
  /** The network, by default the real one. */
  readonly createTransport?: CreateTransport | undefined
}

/** Opens the API of one account. Dispose of the source to end its connections and timers. */
export const openSource = (options: SourceOptions) => {
  const { account, settings, storage, log, createTransport } = options
  const { limits = settings.limits, wasAnswered, clock = systemClock } = options
  const http = createHttpClient({
    ...account,
    account: account.name,
    limits,
    probe: LIST_PATH,
    durationMsMax: settings.budget.duration_max,
    wasAnswered,
    clock,
    log,
    createTransport,
    ledgerDirectory: settings.warehouseDirectory,
    requireAdmission: storage.requireHeld,
    headers: { 'Authorization-ID': String(account.id), 'Authorization-Token': account.token },
    random: Math.random,
  })
  const source = createSurveySource(http, clock, limits.attempts)
  return { ...source, [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() }
}
