/**
 * Reads command lines and writes help with yargs. It gets only the command that is named, because each declared command costs
 * time, and it does not run the command: it would write the help of each command before it runs.
 */
import yargs, { type Argv } from 'yargs'
import { EXITS } from '../base/errors.js'
import { nearest } from '../base/suggest.js'
import { packageVersion } from '../base/version.js'
import type { Command } from './context.js'
import { type FlagValues, flagProblems } from './flags.js'
import { UsageError } from './usage.js'

/** Wider terminals get no longer lines. */
const COLUMNS_MAX = 110

/** With `--help` or `--version`, `output` is the text to print; without them, `command` is present. */
export interface CommandLine {
  readonly command: Command | undefined
  readonly flags: FlagValues
  readonly output: string
}

/**
 * Reads `argv` (without `node` and the script). If a flag is given twice, the last one counts. Throws a `UsageError`, which lists
 * all wrong flags.
 */
export const readCommandLine = (
  argv: readonly string[],
  commands: readonly Command[],
  columns = COLUMNS_MAX,
): CommandLine => {
  const names = commands.map(({ name }) => name)
  const place = argv.findIndex((word, at) => names.includes(word) && !takesNext(argv[at - 1], commands))
  const command = commands.find(({ name }) => name === argv[place])
  const words = command === undefined ? argv : argv.toSpliced(place, 1)
  const problems =
    command === undefined ? unknownCommand(words, names) : flagProblems(words, command.name, command.flags)
  if (problems.length > 0) throw new UsageError(problems.join('; '))
  const parser = newParser(Math.min(COLUMNS_MAX, columns))
  if (command === undefined) declareAll(parser, commands)
  else declareOne(parser, command)
  let output = ''
  const values = parser.parseSync([...words], {}, (_error, _values, text) => {
    output = text
  })
  return { command, flags: Object.fromEntries(Object.entries(values).filter(isFlag)), output }
}

/** Whether the word after this one is its value. In front of the command, the flags of every command count. */
const takesNext = (word: string | undefined, commands: readonly Command[]): boolean =>
  word?.startsWith('--') === true && commands.some(({ flags }) => flags[word.slice(2)]?.type === 'string')

const isFlag = (entry: [string, unknown]): entry is [string, string | boolean] =>
  entry[0] !== '$0' && ['string', 'boolean'].includes(typeof entry[1])

const unknownCommand = (words: readonly string[], names: readonly string[]): readonly string[] => {
  // yargs takes the word `help` for `--help`.
  const word = words.find((one) => !one.startsWith('-') && one !== 'help')
  if (word === undefined) return []
  const meant = nearest(word, names)
  return [`there is no command ${word}${meant === null ? '' : `: did you mean ${meant}?`}`]
}

const declareOne = (parser: Argv, { name, describe, flags }: Command): void => {
  parser.usage(`$0 ${name}\n\n${describe}`)
  for (const [flag, { type, describe, default: text }] of Object.entries(flags))
    parser.option(flag, {
      type,
      describe,
      ...(type === 'string' && { nargs: 1 }),
      ...(text !== undefined && { defaultDescription: text }),
    })
}

const declareAll = (parser: Argv, commands: readonly Command[]): void => {
  for (const { name, describe } of commands) parser.command(name, describe)
  const exits = Object.entries(EXITS).map(([code, { meaning }]) => `  ${code}  ${meaning}`)
  parser
    .usage(
      '$0 <command>\n\nSyncs surveys, sample sources and fieldwork progress from the API into DuckDB and Parquet, within its request cap.',
    )
    .demandCommand(1, 'say which command to run')
    .epilogue(['Exit codes:', ...exits].join('\n'))
}

const newParser = (columns: number): Argv =>
  yargs()
    .scriptName('fieldwork-sync')
    .locale('en')
    .updateStrings({ 'Not enough arguments following: %s': '--%s needs a value' })
    .parserConfiguration({
      'boolean-negation': false,
      'camel-case-expansion': false,
      'dot-notation': false,
      'duplicate-arguments-array': false,
      'parse-numbers': false,
      'short-option-groups': false,
    })
    .strict()
    .version('version', 'Show the version', packageVersion())
    .help('help', 'Show this help')
    .alias('help', 'h')
    .wrap(columns)
    .fail((message) => {
      throw new UsageError(message)
    })
