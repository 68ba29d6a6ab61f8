/** Reads the settings of `replay`, decodes the rows again, and prints the result. */
import { loadSettings } from '../../settings/load-settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { settingsOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { openTelemetry } from '../wiring/logging.js'
import { renderReplay } from './text.js'

export const handleReplay = async (
  context: CliContext,
  flags: FlagsOf<typeof settingsOptions>,
): Promise<void> => {
  const settings = loadSettings({ env: context.env, flags, requireAccounts: false })
  const { log } = await openTelemetry(settings, context)
  const { replayAll } = await import('./run.js')
  const report = await replayAll({ settings, log, signal: context.signal })
  context.stdout.write(settings.json ? `${jsonOf(report)}\n` : renderReplay(report))
  context.exit(report.exitCode)
}
