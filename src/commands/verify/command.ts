/** `fieldwork-sync verify` proves by a sample that the published rows are the service's rows, and checks the published state by itself. */
import type { Command } from '../context.js'
import { verifyOptions } from '../options.js'

export const verifyCommand: Command<typeof verifyOptions> = {
  name: 'verify',
  describe:
    'Compare a sample of surveys with the API, field by field, and check the published tables and files',
  flags: verifyOptions,
  run: async (context, flags) => (await import('./handler.js')).handleVerify(context, flags),
}
