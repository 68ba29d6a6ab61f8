/** Reads the settings of `conformance`, sends the requests, and prints the verdicts. */
import { systemClock } from '../../base/clock.js'
import { EXIT_CODES, type ExitCode, type ExpectedError, isStop } from '../../base/errors.js'
import { humanDuration, humanWindow } from '../../base/human.js'
import { createRedactor } from '../../base/secret.js'
import { loadSettings } from '../../settings/load-settings.js'
import { secretsOf } from '../../settings/settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { conformanceOptions } from '../options.js'
import { logProxies } from '../wiring/log-proxies.js'
import { openTelemetry } from '../wiring/logging.js'
import { conformanceToJson, renderConformance } from './text.js'

/** Slightly more than the rules need for an account with a few pages of surveys. */
const REQUESTS_MAX = 90
/** Enough for every answer that a rule needs; all answers are kept until the report. */
const RESPONSE_BYTES_MAX = 4 * 1024 * 1024

export const handleConformance = async (
  context: CliContext,
  flags: FlagsOf<typeof conformanceOptions>,
): Promise<void> => {
  const settings = await loadSettings({ env: context.env, signal: context.signal, flags, oneAccount: true })
  const { log, colour } = await openTelemetry(settings, context)
  const [account] = settings.accounts
  if (account === undefined) throw new TypeError('settings without an account')
  logProxies([account], log)
  const requestsMax = settings.budget.requestsMax ?? REQUESTS_MAX
  const { requests, perMs } = account.rate
  log.info(
    { requests_max: requestsMax },
    `at most ${requestsMax} requests, ${requests} per ${humanWindow(perMs)}: this takes up to ${humanDuration(perMs * Math.ceil(requestsMax / requests))}`,
  )
  const startedMs = systemClock.monotonicMs()
  const { runConformance } = await import('../../conformance/run.js')
  const report = await runConformance({
    account: account.name,
    baseUrl: account.baseUrl,
    id: account.id,
    token: account.token,
    proxy: account.proxy,
    rate: account.rate,
    requestTimeoutMs: settings.limits.requestTimeoutMs,
    responseBytesMax: Math.min(RESPONSE_BYTES_MAX, settings.limits.responseBytesMax),
    requestsMax,
    exceedCap: flags['exceed-cap'] ?? false,
    clock: systemClock,
    log,
    signal: context.signal,
  })
  const isBroken = report.rules.some(({ verdict }) => verdict.verdict === 'fail')
  const exitCode = exitCodeOf(isBroken, report.endedBy)
  const style = { elapsedMs: systemClock.monotonicMs() - startedMs, exitCode, colour }
  const text = settings.json
    ? `${JSON.stringify(conformanceToJson(report, style))}\n`
    : renderConformance(report, style)
  // Answers are redacted where they are read; this covers any other way for a token to get into the report.
  context.exit(exitCode)
  await context.print(createRedactor(secretsOf({ ...settings, accounts: [account] }))(text))
}

/** The exit code of a failed request takes precedence over a broken rule, and a broken rule over a signal. */
const exitCodeOf = (isBroken: boolean, endedBy: ExpectedError | null): ExitCode => {
  if (endedBy !== null && !isStop(endedBy)) return endedBy.exitCode
  if (isBroken) return EXIT_CODES.data
  return endedBy?.exitCode ?? EXIT_CODES.complete
}
