/** `fieldwork-sync status`: what the published state tells, and whether a sync is at work. Makes no request. */
import type { CommandModule } from 'yargs'
import { loadSettings } from '../settings/load-settings.js'
import { renderStatus } from '../telemetry/status.js'
import type { CliContext } from './support/context.js'
import { jsonOf } from './support/json.js'
import { type FlagsOf, settingsOptions } from './support/options.js'

export const statusCommand = (
  context: CliContext,
): CommandModule<unknown, FlagsOf<typeof settingsOptions>> => ({
  command: 'status',
  describe: 'Show the last runs, the cursor, the queue, freshness, rows, drift and rejections',
  builder: settingsOptions,
  handler: async (flags) => {
    const settings = loadSettings({ env: context.env, flags, requireAccounts: false })
    const { readWarehouseStatus } = await import('./support/warehouse-status.js')
    const { head, status } = await readWarehouseStatus(settings.warehouseDirectory, settings.publish)
    context.stdout.write(
      settings.json
        ? `${jsonOf({ published: head.published, published_at: head.publishedAt, holder: head.holder, pace: head.pace, ...status })}\n`
        : `${renderStatus(head, status)}\n`,
    )
  },
})
