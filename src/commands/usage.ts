/**
 * Checks a command line before yargs does. yargs finds most mistakes, but it suggests no similar flag, and it reads
 * `--full=yes` as false.
 */
import type { Options } from 'yargs'
import { ConfigError } from '../base/errors.js'
import { nearest } from '../base/suggest.js'

/** The command line is wrong. Exit 2. */
export class UsageError extends ConfigError {
  readonly code = 'usage'

  constructor(problem: string) {
    super(`${problem}${problem.endsWith('?') ? '' : '.'} See fieldwork-sync --help`)
  }
}

/** The parts of a yargs command that a command line is checked against. */
export interface KnownCommand {
  readonly command?: string | readonly string[] | undefined
  /** The flags of the command. If it is a function, only yargs can read them. */
  readonly builder?: object | undefined
}

/** Throws one `UsageError` that lists an unknown command or all wrong flags. */
export const refuseUnknown = (argv: readonly string[], commands: readonly KnownCommand[]): void => {
  const words = argv.filter((word) => !word.startsWith('-'))
  const command = words.flatMap((word) => commands.find((known) => known.command === word) ?? [])[0]
  if (command === undefined) {
    // yargs handles `help`.
    if (words[0] === undefined || words[0] === 'help') return
    const name = nearest(words[0], commands.map(nameOf))
    throw new UsageError(`there is no command ${words[0]}${name === null ? '' : `: did you mean ${name}?`}`)
  }
  const flags = flagsOf(command)
  if (flags === null) return
  const problems = argv.flatMap((word) => flagProblem(word, flags, nameOf(command)) ?? [])
  if (problems.length > 0) throw new UsageError(problems.join('; '))
}

/** Returns `text` as one of `choices`. Throws a `UsageError` with the most similar choice if it is none of them. */
export const choiceOf = <Choice extends string>(
  text: string | undefined,
  choices: readonly Choice[],
  problem: string,
): Choice => {
  const choice = choices.find((known) => known === text)
  if (choice !== undefined) return choice
  const meant = text === undefined ? null : nearest(text, choices)
  throw new UsageError(`${problem}${meant === null ? '' : `: did you mean ${meant}?`}`)
}

/** Whether `--json` is given. It reads argv, because an error may come before the flags are parsed. */
export const wantsJson = (argv: readonly string[]): boolean =>
  argv.includes('--json') || argv.includes('--json=true')

/** The value of `--token`, which must be redacted in errors about the command line. */
export const tokenIn = (argv: readonly string[]): string | undefined =>
  argv.find((word) => word.startsWith('--token='))?.slice('--token='.length) ??
  (argv.includes('--token') ? argv[argv.indexOf('--token') + 1] : undefined)

/** Clearer texts for messages of yargs. */
export const YARGS_STRINGS = { 'Not enough arguments following: %s': '--%s needs a value' }

const nameOf = ({ command }: KnownCommand): string => String(command)

/** The flags of a command by name; null if only yargs can read them. */
const flagsOf = ({ builder }: KnownCommand): ReadonlyMap<string, Options> | null =>
  typeof builder === 'object' ? new Map([...Object.entries<Options>({ ...builder }), ...COMMON_FLAGS]) : null

const COMMON_FLAGS: readonly (readonly [string, Options])[] = ['help', 'version'].map((name) => [
  name,
  { type: 'boolean' },
])

const flagProblem = (word: string, flags: ReadonlyMap<string, Options>, command: string): string | null => {
  const [, name, value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
  if (name === undefined) return null
  const flag = flags.get(name)
  if (flag === undefined) {
    const meant = nearest(name, [...flags.keys()])
    return `${command} has no flag --${name}${meant === null ? '' : `: did you mean --${meant}?`}`
  }
  return flag.type === 'boolean' && value !== undefined && !['true', 'false'].includes(value)
    ? `--${name} takes no value: leave out =${value}`
    : null
}
