/** `fieldwork-sync init` writes a settings file, from answers on a terminal or from flags, and checks it. */
import type { Command } from '../context.js'
import { initOptions } from '../options.js'

export const initCommand: Command<typeof initOptions> = {
  name: 'init',
  describe:
    'Write a settings file and check it; on a terminal it asks for what the flags do not give, and creates the token file',
  flags: initOptions,
  run: async (context, flags) => (await import('./handler.js')).handleInit(context, flags),
}
