/** `fieldwork-sync status` shows the published state, and whether a sync is running. It makes no request. */
import type { Command } from '../context.js'
import { settingsOptions } from '../options.js'

const flags = {
  requests: {
    type: 'boolean',
    describe: 'Show only the requests of the last run of each account, by reason and kind',
  },
  ...settingsOptions,
} as const

export const statusCommand: Command<typeof flags> = {
  name: 'status',
  describe:
    'Show the last runs, the cursor, the queue, freshness, row counts, drift and rejected rows; makes no request to the API',
  flags,
  run: async (context, given) => {
    const { env, signal } = context
    const { loadSettings } = await import('../../settings/load-settings.js')
    const settings = await loadSettings({ env, signal, flags: given, requireAccounts: false })
    const { showRequests, showStatus } = await import('./run.js')
    await (given.requests === true ? showRequests : showStatus)(context, settings)
  },
}
