/** Reads the settings of `sync`, opens log and progress, runs the job, and prints the summary. */
import { systemClock } from '../../base/clock.js'
import { createRedactor } from '../../base/secret.js'
import type { SourceUsage } from '../../model/survey-source.js'
import { secretsOf } from '../../settings/settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { syncOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { logProxies } from '../wiring/log-proxies.js'
import { openTelemetry } from '../wiring/logging.js'
import { loadMonitoredSettings, monitored } from '../wiring/monitored-run.js'
import { requireShardLayout } from '../wiring/shard-layout.js'
import { renderSummary } from './text.js'

export const handleSync = async (context: CliContext, flags: FlagsOf<typeof syncOptions>): Promise<void> => {
  const startedMs = systemClock.monotonicMs()
  const settings = await loadMonitoredSettings(context, 'sync', { flags })
  const telemetry = await openTelemetry(settings, context)
  const { log } = telemetry
  const { signal } = context
  let elapsedMs = 0
  // The summary comes last, behind warnings about reports.
  const report = await monitored({ settings, command: 'sync', log, signal }, async (watch) => {
    await requireShardLayout(settings)
    logProxies(settings.accounts, log)
    const sources = new Map<string, () => SourceUsage>()
    using observer = telemetry.progress((account) => sources.get(account)?.())
    // DuckDB and the HTTP client are loaded only now, so wrong settings are reported at once.
    const { syncAccounts } = await import('./run.js')
    const ended = await syncAccounts({
      settings,
      log,
      observer,
      signal,
      watch,
      onSource: (account, usage) => sources.set(account, usage),
    })
    elapsedMs = systemClock.monotonicMs() - startedMs
    return ended
  })
  const text = settings.json
    ? `${jsonOf(report)}\n`
    : renderSummary(report, { elapsedMs, colour: telemetry.colour })
  // The summary quotes values from the API, and any of them may contain a token.
  context.exit(report.exitCode)
  await context.print(createRedactor(secretsOf(settings))(text))
}
