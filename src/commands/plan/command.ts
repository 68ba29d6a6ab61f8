/** `fieldwork-sync plan` shows what the next sync would request, by reason, and how long that takes. It makes no request. */
import type { Command } from '../context.js'
import { planOptions } from '../options.js'

export const planCommand: Command<typeof planOptions> = {
  name: 'plan',
  describe:
    'Show what the next sync would request, why, and how long that takes; makes no request to the API',
  flags: planOptions,
  run: async (context, flags) => (await import('./handler.js')).handlePlan(context, flags),
}
