/** `fieldwork-sync check` tests whether a sync would work: settings, warehouse, and one request for each account. */
import type { CommandModule } from 'yargs'
import { loadSettings } from '../../settings/load-settings.js'
import type { CliContext } from '../context.js'
import { checkOptions, type FlagsOf } from '../options.js'
import { jsonOf } from '../text/json.js'
import { logProxies } from '../wiring/log-proxies.js'
import { openTelemetry } from '../wiring/logging.js'
import { requireShardLayout } from '../wiring/shard-layout.js'
import { renderChecks } from './text.js'

export const checkCommand = (context: CliContext): CommandModule<unknown, FlagsOf<typeof checkOptions>> => ({
  command: 'check',
  describe:
    'Check the settings, the warehouse, and the address, id and token of each account with one request',
  builder: checkOptions,
  handler: async (flags) => {
    const settings = loadSettings({ env: context.env, flags })
    await requireShardLayout(settings)
    const { log } = openTelemetry(settings, context)
    logProxies(settings.accounts, log)
    const { checkAll } = await import('./run.js')
    const { checks, exitCode } = await checkAll({ settings, log, signal: context.signal })
    context.stdout.write(settings.json ? `${jsonOf({ exitCode, checks })}\n` : renderChecks(checks))
    context.exit(exitCode)
  },
})
