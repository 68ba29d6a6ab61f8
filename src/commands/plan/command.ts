/** `fieldwork-sync plan` shows what the next sync would request, by reason, and how long that takes. It makes no request. */
import type { CommandModule } from 'yargs'
import { loadSettings } from '../../settings/load-settings.js'
import type { CliContext } from '../context.js'
import { type FlagsOf, planOptions } from '../options.js'
import { planToJson } from './json.js'
import { renderPlans } from './text.js'

export const planCommand = (context: CliContext): CommandModule<unknown, FlagsOf<typeof planOptions>> => ({
  command: 'plan',
  describe: 'Show what the next sync would request, why, and how long that takes; makes no request',
  builder: planOptions,
  handler: async (flags) => {
    const settings = loadSettings({ env: context.env, flags })
    const { planAll } = await import('./run.js')
    const plans = await planAll(settings)
    context.stdout.write(
      settings.json
        ? `${JSON.stringify(planToJson(plans, settings.budget))}\n`
        : `${renderPlans(plans, settings.budget)}\n`,
    )
  },
})
