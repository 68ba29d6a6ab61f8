/** `fieldwork-sync check` tests whether a sync would work: settings, warehouse, and one request for each account. */
import type { Command } from '../context.js'
import { checkOptions } from '../options.js'

export const checkCommand: Command<typeof checkOptions> = {
  name: 'check',
  describe:
    'Check the settings, the warehouse, and the address, id and token of each account with one request',
  flags: checkOptions,
  run: async (context, given) => {
    const { runChecks } = await import('../checks.js')
    const { renderChecks } = await import('../text/checks.js')
    const { jsonOf } = await import('../text/json.js')
    const { checks, exitCode } = await runChecks(context, given)
    context.exit(exitCode)
    await context.print(given.json === true ? `${jsonOf({ exitCode, checks })}\n` : renderChecks(checks))
  },
}
