/** Makes the checks of `check`, and prints them. */
import type { CliContext } from '../context.js'
import type { FlagsOf } from '../flags.js'
import type { checkOptions } from '../options.js'
import { renderChecks } from '../text/checks.js'
import { jsonOf } from '../text/json.js'
import { runChecks } from '../wiring/run-checks.js'

export const handleCheck = async (
  context: CliContext,
  flags: FlagsOf<typeof checkOptions>,
): Promise<void> => {
  const { checks, exitCode } = await runChecks(context, flags)
  context.exit(exitCode)
  await context.print(flags.json === true ? `${jsonOf({ exitCode, checks })}\n` : renderChecks(checks))
}
