/** `fieldwork-sync status` shows the published state, and whether a sync is running. It makes no request. */
import type { Command } from '../context.js'
import { statusOptions } from '../options.js'

export const statusCommand: Command<typeof statusOptions> = {
  name: 'status',
  describe:
    'Show the last runs, the cursor, the queue, freshness, row counts, drift and rejected rows; makes no request to the API',
  flags: statusOptions,
  run: async (context, flags) => (await import('./handler.js')).handleStatus(context, flags),
}
