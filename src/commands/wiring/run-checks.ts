/** Reads settings as `sync` would, and makes the checks. `check` and `init` print them. */
import { loadSettings } from '../../settings/load-settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { checkOptions } from '../options.js'
import type { CheckResult } from './check-all.js'
import { logProxies } from './log-proxies.js'
import { openTelemetry } from './logging.js'
import { requireShardLayout } from './shard-layout.js'

export const runChecks = async (
  context: CliContext,
  flags: FlagsOf<typeof checkOptions>,
): Promise<CheckResult> => {
  const settings = await loadSettings({ env: context.env, signal: context.signal, flags, withReports: true })
  await requireShardLayout(settings)
  const { log } = await openTelemetry(settings, context)
  logProxies(settings.accounts, log)
  const { checkAll } = await import('./check-all.js')
  return await checkAll({ settings, log, signal: context.signal })
}
