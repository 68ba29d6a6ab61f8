/**
 * Publishes the committed state, also after a failed run. If the publish failed or was stopped, the run is recorded again with its new
 * outcome.
 */
import type { Clock } from '../base/clock.js'
import { EXIT_CODES, isStop, messageOf, StoppedError, UnsyncedError, WarehouseError } from '../base/errors.js'
import type { Log } from '../base/log.js'
import { onAbort } from '../base/signals.js'
import { createTimeLimit } from '../base/time-limit.js'
import type { PublishReport, RunObserver, RunReport, SyncReport } from '../model/run.js'
import { BehindError, type Publisher } from '../model/warehouse.js'
import { worstOf } from './outcome.js'

interface PublishAll {
  readonly publishers: readonly Publisher[]
  readonly reports: readonly RunReport[]
  /** Aborts with a `StoppedError` to give up publishing. */
  readonly signal: AbortSignal
  /** Replaces the record of how a run ended. */
  readonly finishRun: (report: RunReport) => Promise<void>
  readonly observer: RunObserver
  readonly log: Log
}

/** Throws only bugs. A failed publish is in the report. */
export const publishAll = async (options: PublishAll): Promise<SyncReport> => {
  const { publishers, reports, signal, observer } = options
  const published: PublishReport[] = []
  let seen: SeenError | null = null
  try {
    for (const publisher of publishers) {
      observer.publishing({ format: publisher.format })
      try {
        published.push(...(await publisher.publish(signal)))
      } catch (error) {
        if (!isSeen(error)) throw error
        if (error instanceof BehindError) published.push(...error.published)
        seen ??= error
      }
    }
  } catch (error) {
    if (error instanceof WarehouseError) return await recordFailed(options, published, error)
    if (!isStop(error)) throw error
    if (seen === null) return await recordGivenUp(options, published, error)
  }
  if (seen !== null) return await recordFailed(options, published, seen)
  return { ...worstOf(reports), accounts: reports, published, publishError: null }
}

/** Readers see the new state, so the run has failed, but not to publish. */
type SeenError = UnsyncedError | BehindError

const isSeen = (error: unknown): error is SeenError =>
  error instanceof UnsyncedError || error instanceof BehindError

const recordGivenUp = async (
  options: PublishAll,
  published: readonly PublishReport[],
  { message }: StoppedError,
): Promise<SyncReport> => {
  const unpublished = `before ${published.length === 0 ? 'it' : 'all of it'} was published; the next run publishes it`
  const { accounts, failures } = await recordAgain(options, (report) => ({
    ...worstOf([report, { exitCode: EXIT_CODES.partial }]),
    reason: reasonsOf(report.reason, `${message} ${unpublished}`),
  }))
  const [failure] = failures
  if (failure instanceof WarehouseError) return await recordFailed(options, published, failure)
  if (failure !== undefined) throw failure
  const publishError = `${message}; the next run publishes it`
  return { ...worstOf(accounts), accounts, published, publishError }
}

/** The failure comes before the reasons of the runs. */
const recordFailed = async (
  options: PublishAll,
  published: readonly PublishReport[],
  error: WarehouseError,
): Promise<SyncReport> => {
  const { exitCode, message } = error
  const publishError = isSeen(error) ? null : message
  const formats = published.map(({ format }) => format)
  const lack = formats.length === 0 ? 'not published' : `only ${formats.join(', ')} published`
  const why = publishError === null ? message : `${lack}: ${message}`
  const { accounts, failures } = await recordAgain(options, ({ reason }) => ({
    exitCode,
    status: 'failed',
    reason: reasonsOf(why, reason),
    errorCode: error.code,
  }))
  for (const second of failures)
    options.log.error({ problem: messageOf(second) }, 'could not record how the publish ended')
  return { ...worstOf(accounts), accounts, published, publishError }
}

const reasonsOf = (...reasons: readonly (string | null)[]): string =>
  reasons.filter((reason) => reason !== null).join('; ')

/** Records each run with its new outcome. `failures` are the errors of the runs that could not be recorded. */
const recordAgain = async (
  { reports, finishRun }: PublishAll,
  changed: (report: RunReport) => Partial<Pick<RunReport, 'exitCode' | 'status' | 'reason' | 'errorCode'>>,
) => {
  const accounts = reports.map((report) => ({ ...report, ...changed(report) }))
  const failures: unknown[] = []
  for (const account of accounts) await finishRun(account).catch((error: unknown) => failures.push(error))
  return { accounts, failures }
}

/**
 * A run ends within ten seconds (docs/how-to/limit-a-run.md). The rest of this time is for recording the end of the run, and for closing
 * the files.
 */
export const PUBLISH_AFTER_SIGNAL_MS_MAX = 8_000

/**
 * The deadline counts from the abort of `signal`. `forWorkFromNow` aborts with `signal`, or at the deadline if `signal` has already
 * aborted. Dispose of it after the work, because its timer holds the process.
 */
export const shutdownDeadlineAfter = (
  signal: AbortSignal,
  clock: Clock,
): Disposable & { forWorkFromNow(): AbortSignal } => {
  const limit = createTimeLimit(clock)
  const passed = `the shutdown deadline of ${PUBLISH_AFTER_SIGNAL_MS_MAX / 1_000} s passed`
  const listening = onAbort([signal], () =>
    limit.after(PUBLISH_AFTER_SIGNAL_MS_MAX, () => limit.end(new StoppedError(passed))),
  )
  return {
    forWorkFromNow: () => (signal.aborted ? limit.signal : signal),
    [Symbol.dispose]: () => {
      listening[Symbol.dispose]()
      limit[Symbol.dispose]()
    },
  }
}
