/**
 * The table of commands, a row each, in the groups of `--help`. Every start loads the table, so a row checks its flags and reads the
 * settings, and then loads the file of its command with `import()`. The parameters of that file say which flags the command gets.
 */
import type { Command } from './context.js'
import { CHECK } from './table/check.js'
import { DEVELOP } from './table/develop.js'
import { READ } from './table/read.js'
import { RUN } from './table/run.js'

export const GROUPS: Readonly<Record<string, readonly Command[]>> = {
  Run: RUN,
  Read: READ,
  Check: CHECK,
  Develop: DEVELOP,
}

/** Every command, in the order of `--help`. */
export const COMMANDS: readonly Command[] = Object.values(GROUPS).flat()
