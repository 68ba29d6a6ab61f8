/** What yargs gets: the flags of one command, or the names of all of them. */
import yargs, { type Argv } from 'yargs'
import { EXITS } from '../base/errors.js'
import { packageVersion } from '../base/version.js'
import type { Command } from './context.js'
import { usageError } from './usage.js'

/** The command that `argv` names, and the other words. */
export const splitCommand = (argv: readonly string[], commands: readonly Command[]) => {
  const names = commands.map(({ name }) => name)
  const place = argv.findIndex((word, at) => names.includes(word) && !takesNext(argv[at - 1], commands))
  const command = commands.find(({ name }) => name === argv[place])
  return { command, words: command === undefined ? argv : argv.toSpliced(place, 1) }
}

/** Whether the word after this one is its value. In front of the command, the flags of every command count. */
const takesNext = (word: string | undefined, commands: readonly Command[]): boolean =>
  word?.startsWith('--') === true && commands.some(({ flags }) => flags[word.slice(2)]?.type === 'string')

export const declareOne = (parser: Argv, { name, describe, flags }: Command): void => {
  const declared = Object.entries(flags)
  const args = declared.flatMap(([arg, { type }]) => (type === 'argument' ? [arg] : []))
  const words = args.map((arg) => ` <${arg}>`).join('')
  if (args.length === 0) parser.usage(`$0 ${name}\n\n${describe}`)
  else
    parser
      .command(`$0${args.map((arg) => ` [${arg}]`).join('')}`, false)
      .usage(`$0 ${name}${words}\n\n${describe}`)
  for (const [flag, { type, describe, default: text }] of declared)
    if (type === 'argument') parser.positional(flag, { type: 'string', describe })
    else
      parser.option(flag, {
        type,
        describe,
        ...(type === 'string' && { nargs: 1 }),
        ...(text !== undefined && { defaultDescription: text }),
      })
}

export const declareAll = (parser: Argv, commands: readonly Command[]): void => {
  for (const { name, describe } of commands) parser.command(name, describe)
  const exits = Object.entries(EXITS).map(([code, { meaning }]) => `  ${code}  ${meaning}`)
  parser
    .usage(
      '$0 <command>\n\nSyncs surveys, sample sources and fieldwork progress from the API into DuckDB, Parquet and Delta tables, within its request cap.',
    )
    .demandCommand(1, 'say which command to run')
    .epilogue(['Exit codes:', ...exits].join('\n'))
}

/** `command` is named in errors; empty if there is none. */
export const newParser = (columns: number, command: string): Argv =>
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
      throw usageError(message, command)
    })
