/** `fieldwork-sync replay` decodes quarantined rows again, after an upgrade. It makes no request. */
import type { Command } from '../context.js'
import { settingsOptions } from '../options.js'

export const replayCommand: Command<typeof settingsOptions> = {
  name: 'replay',
  describe:
    'After an upgrade, decode rejected rows again, and publish those that this version can type; makes no request to the API',
  flags: settingsOptions,
  run: async (context, flags) => (await import('./handler.js')).handleReplay(context, flags),
}
