/** `fieldwork-sync completion` prints the script with which a shell completes command lines. */
import type { Command } from '../context.js'
import { choiceOf } from '../flags.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const

const flags = {
  shell: { type: 'argument', describe: `The shell: ${SHELLS.join(', ')}`, values: SHELLS },
} as const

export const completionCommand: Command<typeof flags> = {
  name: 'completion',
  describe: `Print the script with which ${SHELLS.join(', ').replace(/, (?=\w+$)/, ' or ')} completes commands, flags, values and paths`,
  flags,
  run: async ({ print }, given) => {
    const shell = choiceOf(given.shell, SHELLS, {
      command: 'completion',
      problem: `completion needs a shell, one of ${SHELLS.join(', ')}`,
    })
    const { SCRIPTS } = await import('./scripts.js')
    await print(SCRIPTS[shell])
  },
}
