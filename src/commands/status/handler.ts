/** Reads the settings of `status`, then the published state, and prints it. */
import { loadSettings } from '../../settings/load-settings.js'
import type { Settings } from '../../settings/settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { statusOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { renderRequestUsage } from './requests-text.js'
import { renderStatus } from './text.js'

export const handleStatus = async (
  context: CliContext,
  flags: FlagsOf<typeof statusOptions>,
): Promise<void> => {
  const settings = await loadSettings({
    env: context.env,
    signal: context.signal,
    flags,
    requireAccounts: false,
  })
  if (flags.requests === true) return await showRequests(context, settings)
  const { readWarehouseStatus } = await import('../wiring/warehouse-status.js')
  const { head, status } = await readWarehouseStatus(settings, context.signal)
  await context.print(
    settings.json ? `${jsonOf({ ...head, ...status })}\n` : `${renderStatus(head, status)}\n`,
  )
}

const showRequests = async (context: CliContext, settings: Settings): Promise<void> => {
  const { readLastRequestUsage } = await import('../wiring/warehouse-status.js')
  const runs = await readLastRequestUsage(settings, context.signal)
  await context.print(settings.json ? `${jsonOf({ runs })}\n` : `${renderRequestUsage(runs)}\n`)
}
