/**
 * Wrong settings, all at once: whoever corrects a file wants the whole list, not one line a run.
 */
import { ConfigError } from '../base/errors.js'
import type { Path } from './tree.js'

export interface Problem {
  /** `file:line`, the name of an environment variable, or a flag. */
  readonly where: string
  /** What is wrong and what to do, one line, without secret values. */
  readonly text: string
  /** The setting that is wrong. Further checks of it would report the same mistake again. */
  readonly path?: Path | undefined
}

/** Settings that cannot be used; its message has a line for every problem. Exit 2. */
export class SettingsError extends ConfigError {
  readonly code = 'settings_invalid'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
    super(
      `${count} in the settings; nothing was requested:\n${problems.map(({ where, text }) => `  ${where}: ${text}`).join('\n')}`,
    )
    this.problems = problems
  }
}

const QUOTED_CHARACTERS_MAX = 40

/** A wrong value, short enough for a line; for values that cannot be secret. */
export const quoted = (value: unknown): string => {
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value))
  return text.length > QUOTED_CHARACTERS_MAX ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…` : text
}
