/** Reads the settings of `replay`, decodes the rows again, and prints the result. */
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { settingsOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { openTelemetry } from '../wiring/logging.js'
import { loadMonitoredSettings, monitored } from '../wiring/monitored-run.js'
import { renderReplay } from './text.js'

export const handleReplay = async (
  context: CliContext,
  flags: FlagsOf<typeof settingsOptions>,
): Promise<void> => {
  const settings = await loadMonitoredSettings(context, 'replay', { flags, requireAccounts: false })
  const { log } = await openTelemetry(settings, context)
  const { signal } = context
  const report = await monitored({ settings, command: 'replay', log, signal }, async (watch) => {
    const { replayAll } = await import('./run.js')
    return await replayAll({ settings, log, signal, watch })
  })
  context.exit(report.exitCode)
  await context.print(settings.json ? `${jsonOf(report)}\n` : renderReplay(report))
}
