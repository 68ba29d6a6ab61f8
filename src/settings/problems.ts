/** Problems in the settings. All are reported at once, so that one correction of the file is enough. */
import { ExpectedError } from '../base/errors.js'
import { counted, humanCount } from '../base/human.js'
import type { Monitoring } from '../model/monitoring.js'
import type { Path } from './tree.js'

export interface Problem {
  /** `file:line`, the name of an environment variable, or a flag. */
  readonly where: string
  /** What is wrong and what to do, one line, without secret values. */
  readonly text: string
  /** The wrong setting. Further checks skip it, so that no mistake is reported twice. */
  readonly path?: Path | undefined
}

/** The settings cannot be used; the message has a line for each of the first problems. Exit 2. */
export class SettingsError extends ExpectedError {
  readonly problems: readonly Problem[]
  /** Where a failed run is reported, as far as these settings are right; null if the settings were not loaded. */
  readonly monitoring: Monitoring | null

  constructor(problems: readonly Problem[], monitoring: Monitoring | null = null) {
    const lines = problems.map(({ where, text }) => `  ${where}: ${text}`)
    const rest = lines.splice(LISTED_MAX).length
    if (rest > 0) lines.push(`  and ${humanCount(rest)} more`)
    super(
      'settings_invalid',
      `${counted(problems.length, 'problem')} in the settings; nothing was requested:\n${lines.join('\n')}`,
    )
    this.problems = problems
    this.monitoring = monitoring
  }
}

/** With hundreds of accounts, one mistake may be made for each. */
const LISTED_MAX = 20

/** The type, in words, that YAML gives a value without quotes. */
export const kindOf = (value: unknown): string => {
  if (typeof value === 'number') return 'a number'
  if (typeof value === 'boolean') return 'true or false'
  return value instanceof Date ? 'a date' : 'another type'
}
