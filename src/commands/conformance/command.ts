/** `fieldwork-sync conformance` checks a service against the rules of the API document. It sends GET requests only. */
import type { Command } from '../context.js'
import { conformanceOptions } from '../options.js'

export const conformanceCommand: Command<typeof conformanceOptions> = {
  name: 'conformance',
  describe: 'Check whether a service follows the rules of the API document; sends GET requests only',
  flags: conformanceOptions,
  run: async (context, flags) => (await import('./handler.js')).handleConformance(context, flags),
}
