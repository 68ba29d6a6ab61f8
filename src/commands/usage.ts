/**
 * What is wrong with a command line, in words that say what to do next. yargs finds most of it; what it does not know
 * is which flag was meant, and that `--full=yes` is not what it seems (yargs takes it for false).
 */
import type { Options } from 'yargs'
import { ConfigError } from '../base/errors.js'
import { nearest } from '../base/suggest.js'

/** The command line itself cannot be understood. Exit 2. */
export class UsageError extends ConfigError {
  readonly code = 'usage'

  constructor(problem: string) {
    super(`${problem}${problem.endsWith('?') ? '' : '.'} See fieldwork-sync --help`)
  }
}

/** What usage is checked against: the parts of a yargs command. */
export interface KnownCommand {
  readonly command?: string | readonly string[] | undefined
  /** Its flags; where it is a function only yargs knows them. */
  readonly builder?: object | undefined
}

/** Throws a `UsageError` for a command or flags that do not exist, all of them in one. */
export const refuseUnknown = (argv: readonly string[], commands: readonly KnownCommand[]): void => {
  const words = argv.filter((word) => !word.startsWith('-'))
  const command = words.flatMap((word) => commands.find((known) => known.command === word) ?? [])[0]
  if (command === undefined) {
    // `help` is yargs' own.
    if (words[0] === undefined || words[0] === 'help') return
    const name = nearest(words[0], commands.map(nameOf))
    throw new UsageError(`there is no command ${words[0]}${name === null ? '' : `: did you mean ${name}?`}`)
  }
  const flags = flagsOf(command)
  if (flags === null) return
  const problems = argv.flatMap((word) => flagProblem(word, flags, nameOf(command)) ?? [])
  if (problems.length > 0) throw new UsageError(problems.join('; '))
}

/** The choice that was written as `text`; a `UsageError` where it is none, with the one that was probably meant. */
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

/** Whether what is printed is for machines: also an error that comes before anything is parsed. */
export const wantsJson = (argv: readonly string[]): boolean =>
  argv.includes('--json') || argv.includes('--json=true')

/** What was given as `--token`, which no complaint about the command line may repeat. */
export const tokenIn = (argv: readonly string[]): string | undefined =>
  argv.find((word) => word.startsWith('--token='))?.slice('--token='.length) ??
  (argv.includes('--token') ? argv[argv.indexOf('--token') + 1] : undefined)

/** Sentences of yargs that a person meets, reworded. */
export const YARGS_STRINGS = { 'Not enough arguments following: %s': '--%s needs a value' }

const nameOf = ({ command }: KnownCommand): string => String(command)

/** Null where a command tells yargs only. */
const flagsOf = ({ builder }: KnownCommand): ReadonlyMap<string, Options> | null =>
  typeof builder === 'object'
    ? new Map([...Object.entries<Options>({ ...builder }), ...OF_EVERY_COMMAND])
    : null

const OF_EVERY_COMMAND: readonly (readonly [string, Options])[] = ['help', 'version'].map((name) => [
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
