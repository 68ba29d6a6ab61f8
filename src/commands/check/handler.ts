/** Reads the settings of `check`, makes the checks, and prints them. */
import { loadSettings } from '../../settings/load-settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { checkOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { logProxies } from '../wiring/log-proxies.js'
import { openTelemetry } from '../wiring/logging.js'
import { requireShardLayout } from '../wiring/shard-layout.js'
import { renderChecks } from './text.js'

export const handleCheck = async (
  context: CliContext,
  flags: FlagsOf<typeof checkOptions>,
): Promise<void> => {
  const settings = loadSettings({ env: context.env, flags })
  await requireShardLayout(settings)
  const { log } = await openTelemetry(settings, context)
  logProxies(settings.accounts, log)
  const { checkAll } = await import('./run.js')
  const { checks, exitCode } = await checkAll({ settings, log, signal: context.signal })
  context.stdout.write(settings.json ? `${jsonOf({ exitCode, checks })}\n` : renderChecks(checks))
  context.exit(exitCode)
}
