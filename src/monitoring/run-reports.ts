/**
 * Reports a run: requests `notify.start` and `notify.openlineage` while it runs, and at its end writes its metrics and requests the other
 * addresses side by side. A failed report is one warning, and never changes how the run ends.
 */
import { messageOf, StoppedError } from '../base/errors.js'
import type { Log } from '../base/log.js'
import { onAbort } from '../base/signals.js'
import { createTimeLimit, type TimeLimit } from '../base/time-limit.js'
import type { Monitoring, RunEnd } from '../model/monitoring.js'
import { type Delivery, type DeliveryTools, deliver } from './deliver.js'
import { endDeliveries, type RunStart, startDeliveries } from './notify.js'
import { endEvent, startEvent } from './openlineage.js'

interface RunReportsOptions extends Pick<DeliveryTools, 'clock' | 'redact'> {
  readonly monitoring: Monitoring
  /** The addresses of the API. */
  readonly baseUrls: readonly string[]
  readonly log: Log
  /** The signal of the command. */
  readonly signal: AbortSignal
}

/** A run may end before its `notify.start` is answered. The report of the end waits for that answer, but no longer than this. */
const START_MS_MAX = 2_000

/** The time for all reports at the end, without a signal. */
const REPORT_MS_MAX = 10_000
/** A service that does not answer must not use up the time after a signal. */
const REPORT_AFTER_SIGNAL_MS_MAX = 3_000
/** A run ends within ten seconds of a signal (docs/how-to/limit-a-run.md). */
const END_AFTER_SIGNAL_MS = 9_500
/** Reports get this long even if the publish has used up the time. */
const REPORT_MS_MIN = 400

/** `sinceSignalMs` is null without a signal. */
export const reportMsMax = (sinceSignalMs: number | null): number =>
  sinceSignalMs === null
    ? REPORT_MS_MAX
    : Math.max(REPORT_MS_MIN, Math.min(REPORT_AFTER_SIGNAL_MS_MAX, END_AFTER_SIGNAL_MS - sinceSignalMs))

const endAfter = (limit: TimeLimit, durationMs: number): TimeLimit => {
  limit.after(durationMs, () => limit.end(new StoppedError('the time for reports is up')))
  return limit
}

export const createRunReports = ({ monitoring, baseUrls, clock, log, signal, redact }: RunReportsOptions) => {
  const { metrics, notify, warehouse } = monitoring
  let signalMs: number | null = null
  const listening = onAbort([signal], () => {
    signalMs = clock.monotonicMs()
  })
  const leftMs = () => reportMsMax(signalMs === null ? null : clock.monotonicMs() - signalMs)

  const logged = new Set<string>()
  /** Sends a message. If two messages belong to one setting, the same outcome is logged once. */
  const report = async (delivery: Delivery, until: AbortSignal): Promise<void> => {
    const { setting } = delivery.target
    const delivered = deliver(delivery, { clock, signal: until, redact })
    const problem = await delivered.catch((error: unknown) => redact(messageOf(error)))
    if (logged.has(`${setting} ${problem}`)) return
    logged.add(`${setting} ${problem}`)
    if (problem === null) log.debug({ setting }, 'the run was reported')
    else log.warn({ setting }, `${setting} was not delivered: ${problem}`)
  }

  const events = (eventOf: (to: Parameters<typeof endEvent>[1]) => Delivery): readonly Delivery[] => {
    const target = notify?.openlineage ?? null
    return target === null ? [] : [eventOf({ target, baseUrls, warehouse, redact })]
  }

  let start: TimeLimit | null = null
  let starting: Promise<void> = Promise.resolve()

  return {
    started: (run: RunStart): void => {
      const deliveries = [
        ...startDeliveries(notify?.start ?? null, run),
        ...events((to) => startEvent(run, to)),
      ]
      if (deliveries.length === 0) return
      const limit = endAfter(createTimeLimit(clock), REPORT_MS_MAX)
      starting = Promise.all(deliveries.map((each) => report(each, limit.signal)))
        .then(() => undefined)
        .finally(() => limit[Symbol.dispose]())
      start = limit
    },
    /** `document` is the end in JSON. Never rejects. */
    ended: async (end: RunEnd, document: string): Promise<void> => {
      listening[Symbol.dispose]()
      using deadline = endAfter(createTimeLimit(clock), leftMs())
      if (start !== null) endAfter(start, Math.min(START_MS_MAX, leftMs() / 2))
      const metricsReported = reportOfMetrics(deadline.signal, end)
      await starting
      const deliveries = notify === null ? [] : endDeliveries(notify, end, { redact, document })
      const all = [...deliveries, ...events((to) => endEvent(end, to))]
      await Promise.all([metricsReported, ...all.map((each) => report(each, deadline.signal))])
    },
  }

  async function reportOfMetrics(until: AbortSignal, end: RunEnd): Promise<void> {
    if (metrics === null) return
    try {
      // This import loads prom-client.
      const { reportMetrics } = await import('./metrics/report.js')
      const { deliveries, problem } = await reportMetrics(metrics, warehouse, end, until)
      const pushed = Promise.all(deliveries.map((each) => report(each, until)))
      const why = await problem
      if (why !== null) log.warn({ setting: 'metrics.file' }, `metrics.file was not written: ${why}`)
      await pushed
    } catch (error) {
      log.warn({ setting: 'metrics', problem: redact(messageOf(error)) }, 'the metrics were not reported')
    }
  }
}
