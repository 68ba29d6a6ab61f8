/**
 * Reads command lines and writes help with yargs. It gets only the command that is named, because each declared command costs
 * time, and it does not run the command: it would write the help of each command before it runs.
 */
import { nearest } from '../base/suggest.js'
import type { Command } from './context.js'
import { type FlagValues, flagProblems } from './flags.js'
import { usageError } from './usage.js'
import { splitWords, valuesOf } from './yargs-completion-words.js'
import { declareAll, declareOne, newParser, splitCommand } from './yargs-parser.js'

/** Wider terminals get no longer lines. */
const COLUMNS_MAX = 110

/** With `--help` or `--version`, `output` is the text to print; without them, `command` is present. */
export interface CommandLine {
  readonly command: Command | undefined
  readonly flags: FlagValues
  readonly output: string
}

/**
 * Reads `argv` (without `node` and the script). If a flag is given twice, the last one counts. Throws an error `usage`, which lists
 * all wrong flags.
 */
export const readCommandLine = (
  argv: readonly string[],
  commands: readonly Command[],
  columns = COLUMNS_MAX,
): CommandLine => {
  const { command, words } = splitCommand(argv, commands)
  const problems =
    command === undefined
      ? unknownCommand(
          words,
          commands.map(({ name }) => name),
        )
      : flagProblems(words, command.name, command.flags)
  const name = command?.name ?? ''
  if (problems.length > 0) throw usageError(problems.join('; '), name)
  const parser = newParser(Math.min(COLUMNS_MAX, columns), name)
  if (command === undefined) declareAll(parser, commands)
  else declareOne(parser, command)
  let output = ''
  const values = parser.parseSync([...words], {}, (_error, _values, text) => {
    output = text
  })
  return { command, flags: Object.fromEntries(Object.entries(values).filter(isFlag)), output }
}

const isFlag = (entry: [string, unknown]): entry is [string, string | boolean] =>
  entry[0] !== '$0' && ['string', 'boolean'].includes(typeof entry[1])

const unknownCommand = (words: readonly string[], names: readonly string[]): readonly string[] => {
  // yargs takes the word `help` for `--help`.
  const word = words.find((one) => !one.startsWith('-') && one !== 'help')
  if (word === undefined) return []
  const meant = nearest(word, names)
  return [`there is no command ${word}${meant === null ? '' : `: did you mean ${meant}?`}`]
}

/**
 * What a shell offers for the last word, which may be empty: commands and flags, or values of a flag. If there is nothing, the
 * shell offers files. SHELL says whether yargs adds descriptions for zsh or fish.
 */
export const completionsOf = async (
  words: readonly string[],
  commands: readonly Command[],
): Promise<readonly string[]> => {
  const { before, current } = splitWords(words)
  const { command, words: given } = splitCommand(before, commands)
  const flags = command?.flags ?? {}
  const last = given.at(-1) ?? ''
  const flag = last.startsWith('--') ? flags[last.slice('--'.length)] : undefined
  if (flag?.type === 'string') return await valuesOf(flag, current)
  const argument = Object.values(flags).find(({ type }) => type === 'argument')
  if (argument !== undefined && !current.startsWith('-')) return await valuesOf(argument, current)
  const parser = newParser(COLUMNS_MAX, command?.name ?? '')
  if (command === undefined) declareAll(parser, commands)
  else declareOne(parser, command)
  return await parser.getCompletion([...given, current])
}
