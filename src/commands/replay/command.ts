/** `fieldwork-sync replay` decodes quarantined rows again, after an upgrade. It makes no request. */
import type { Command } from '../context.js'
import { settingsOptions } from '../options.js'

export const replayCommand: Command<typeof settingsOptions> = {
  name: 'replay',
  describe:
    'After an upgrade, decode rejected rows again, and publish those that this version can type; makes no request to the API',
  flags: settingsOptions,
  run: async (context, given) => {
    const { signal } = context
    const { loadMonitoredSettings, monitored, openTelemetry } = await import('../monitored-run.js')
    const settings = await loadMonitoredSettings(context, 'replay', { flags: given, requireAccounts: false })
    const { log } = await openTelemetry(settings, context)
    const report = await monitored({ settings, command: 'replay', log, signal }, async (watch) => {
      const { replayAll } = await import('./run.js')
      return await replayAll({ settings, log, signal, watch })
    })
    context.exit(report.exitCode)
    const { outputOf } = await import('./run.js')
    await context.print(outputOf(report, settings))
  },
}
