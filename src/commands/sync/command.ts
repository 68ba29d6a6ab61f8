/** `fieldwork-sync sync` runs the job and prints its summary. */
import type { Command } from '../context.js'
import { syncOptions } from '../options.js'

export const syncCommand: Command<typeof syncOptions> = {
  name: 'sync',
  describe:
    'Read the changes of all accounts from the API, store them in the warehouse, and publish the tables',
  flags: syncOptions,
  run: async (context, flags) => (await import('./handler.js')).handleSync(context, flags),
}
