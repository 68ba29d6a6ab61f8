/** `fieldwork-sync sync` runs the job and prints its summary. */
import { systemClock } from '../../base/clock.js'
import { PUBLISH_FORMATS } from '../../model/publish-formats.js'
import type { Command } from '../context.js'
import { accountsOption, fullOption, settingsOptions, text } from '../options.js'

const flags = {
  ...accountsOption,
  ...fullOption,
  'max-requests': text('Make at most this many requests; the next run reads the remaining surveys'),
  'max-duration': text('Finish within this time, such as 55m; the next run reads the remaining surveys'),
  publish: {
    ...text(
      `Formats to publish: ${PUBLISH_FORMATS.join(' or ')}, or several, such as ${PUBLISH_FORMATS.join(',')}`,
    ),
    values: PUBLISH_FORMATS,
    isList: true,
  },
  ...settingsOptions,
} as const

export const syncCommand: Command<typeof flags> = {
  name: 'sync',
  describe:
    'Read the changes of all accounts from the API, store them in the warehouse, and publish the tables',
  flags,
  run: async (context, given) => {
    const startedMs = systemClock.monotonicMs()
    const { signal } = context
    const { loadMonitoredSettings, monitored, openTelemetry } = await import('../monitored-run.js')
    const settings = await loadMonitoredSettings(context, 'sync', { flags: given })
    const telemetry = await openTelemetry(settings, context)
    const { log, colour } = telemetry
    let elapsedMs = 0
    // The summary comes last, behind warnings about reports.
    const report = await monitored({ settings, command: 'sync', log, signal }, async (watch) => {
      // Loads DuckDB and the HTTP client. If that fails, it is reported like any other failed run.
      const { sync } = await import('./run.js')
      const ended = await sync({ settings, log, signal, watch, progress: telemetry.progress })
      elapsedMs = systemClock.monotonicMs() - startedMs
      return ended
    })
    const { outputOf } = await import('./text.js')
    context.exit(report.exitCode)
    await context.print(outputOf(report, settings, { elapsedMs, colour }))
  },
}
