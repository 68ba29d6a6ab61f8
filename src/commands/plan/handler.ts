/** Reads the settings of `plan`, computes the plan, and prints it. */
import { loadSettings } from '../../settings/load-settings.js'
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { planOptions } from '../options.js'
import { planToJson } from './json.js'
import { renderPlans } from './text.js'

export const handlePlan = async (context: CliContext, flags: FlagsOf<typeof planOptions>): Promise<void> => {
  const settings = await loadSettings({ env: context.env, signal: context.signal, flags })
  const { planAll } = await import('./run.js')
  const plans = await planAll(settings, context.signal)
  await context.print(
    settings.json
      ? `${JSON.stringify(planToJson(plans, settings.budget))}\n`
      : `${renderPlans(plans, settings.budget)}\n`,
  )
}
