/** `fieldwork-sync status` shows the published state, and whether a sync is running. It makes no request. */
import type { CommandModule } from 'yargs'
import { loadSettings } from '../../settings/load-settings.js'
import type { Settings } from '../../settings/settings.js'
import type { CliContext } from '../context.js'
import { type FlagsOf, statusOptions } from '../options.js'
import { jsonOf } from '../text/json.js'
import { renderRequestUsage } from './requests-text.js'
import { renderStatus } from './text.js'

export const statusCommand = (
  context: CliContext,
): CommandModule<unknown, FlagsOf<typeof statusOptions>> => ({
  command: 'status',
  describe:
    'Show the last runs, the cursor, the queue, freshness, row counts, drift and rejected rows; makes no request',
  builder: statusOptions,
  handler: async (flags) => {
    const settings = loadSettings({ env: context.env, flags, requireAccounts: false })
    if (flags.requests === true) return await showRequests(context, settings)
    const { readWarehouseStatus } = await import('../wiring/warehouse-status.js')
    const { head, status } = await readWarehouseStatus(settings)
    context.stdout.write(
      settings.json ? `${jsonOf({ ...head, ...status })}\n` : `${renderStatus(head, status)}\n`,
    )
  },
})

const showRequests = async (context: CliContext, settings: Settings): Promise<void> => {
  const { readLastRequestUsage } = await import('../wiring/warehouse-status.js')
  const runs = await readLastRequestUsage(settings)
  context.stdout.write(settings.json ? `${jsonOf({ runs })}\n` : `${renderRequestUsage(runs)}\n`)
}
