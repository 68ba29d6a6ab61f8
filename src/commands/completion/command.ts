/** `fieldwork-sync completion` prints the script with which a shell completes command lines. */
import type { Command } from '../context.js'
import { completionOptions, SHELLS } from '../options.js'
import { choiceOf } from '../usage.js'

export const completionCommand: Command<typeof completionOptions> = {
  name: 'completion',
  describe: `Print the script with which ${SHELLS.join(', ').replace(/, (?=\w+$)/, ' or ')} completes commands, flags, values and paths`,
  flags: completionOptions,
  run: async ({ print }, flags) => {
    const shell = choiceOf(flags.shell, SHELLS, {
      command: 'completion',
      problem: `completion needs a shell, one of ${SHELLS.join(', ')}`,
    })
    const { SCRIPTS } = await import('./scripts.js')
    await print(SCRIPTS[shell])
  },
}
