/** `fieldwork-sync replay` decodes quarantined rows again, after an upgrade. It makes no request. */
import type { CommandModule } from 'yargs'
import { loadSettings } from '../../settings/load-settings.js'
import type { CliContext } from '../context.js'
import { type FlagsOf, settingsOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { openTelemetry } from '../wiring/logging.js'
import { renderReplay } from './text.js'

export const replayCommand = (
  context: CliContext,
): CommandModule<unknown, FlagsOf<typeof settingsOptions>> => ({
  command: 'replay',
  describe:
    'After an upgrade, decode rejected rows again, and publish those that this version can type; makes no request',
  builder: settingsOptions,
  handler: async (flags) => {
    const settings = loadSettings({ env: context.env, flags, requireAccounts: false })
    const { log } = openTelemetry(settings, context)
    const { replayAll } = await import('./run.js')
    const report = await replayAll({ settings, log, signal: context.signal })
    context.stdout.write(settings.json ? `${jsonOf(report)}\n` : renderReplay(report))
    context.exit(report.exitCode)
  },
})
