/** `fieldwork-sync plan` shows what the next sync would request, by reason, and how long that takes. It makes no request. */
import type { Command } from '../context.js'
import { accountsOption, fullOption, settingsOptions, text } from '../options.js'

const flags = {
  ...accountsOption,
  ...fullOption,
  'max-requests': text('Show how many surveys fit into a run of this many requests'),
  'max-duration': text('Show how many surveys fit into a run of this length, such as 55m'),
  ...settingsOptions,
} as const

export const planCommand: Command<typeof flags> = {
  name: 'plan',
  describe:
    'Show what the next sync would request, why, and how long that takes; makes no request to the API',
  flags,
  run: async (context, given) => {
    const { loadSettings } = await import('../../settings/load-settings.js')
    const settings = await loadSettings({ env: context.env, signal: context.signal, flags: given })
    const { plan } = await import('./run.js')
    await plan(context, settings)
  },
}
