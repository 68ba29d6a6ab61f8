/** `fieldwork-sync check`: would a sync work? Settings, warehouse, and one request to each account's API. */
import type { CommandModule } from 'yargs'
import { loadSettings } from '../settings/load-settings.js'
import { renderChecks } from '../telemetry/checks.js'
import type { CliContext } from './support/context.js'
import { jsonOf } from './support/json.js'
import { checkOptions, type FlagsOf } from './support/options.js'
import { sayProxies } from './support/say-proxies.js'
import { requireShardLayout } from './support/shard-layout.js'
import { openTelemetry } from './support/telemetry.js'

export const checkCommand = (context: CliContext): CommandModule<unknown, FlagsOf<typeof checkOptions>> => ({
  command: 'check',
  describe: 'Check settings, credentials, reachability and the warehouse, with one request an account',
  builder: checkOptions,
  handler: async (flags) => {
    const settings = loadSettings({ env: context.env, flags })
    await requireShardLayout(settings)
    const { log } = openTelemetry(settings, context)
    sayProxies(settings.accounts, log)
    const { checkAll } = await import('./support/check-all.js')
    const { checks, exitCode } = await checkAll({ settings, log, signal: context.signal })
    context.stdout.write(
      settings.json ? `${jsonOf({ exit_code: exitCode, checks })}\n` : renderChecks(checks),
    )
    context.exit(exitCode)
  },
})
