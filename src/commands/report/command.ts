/** `fieldwork-sync report` writes the published state as one HTML page for people. It makes no request. */
import type { Command } from '../context.js'
import { reportOptions } from '../options.js'

export const reportCommand: Command<typeof reportOptions> = {
  name: 'report',
  describe:
    'Write one HTML page about the published surveys: what needs action, pace, forecasts, changes; makes no request to the API',
  flags: reportOptions,
  run: async (context, flags) => (await import('./handler.js')).handleReport(context, flags),
}
