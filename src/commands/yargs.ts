/** Writes help and completes words with yargs. It gets only the command that is named, because each declared command costs time. */
import yargs, { type Argv } from 'yargs'
import { EXITS } from '../base/errors.js'
import { packageVersion } from '../base/version.js'
import type { Command } from './context.js'
import type { Flag } from './flags.js'
import { commandHelp, commandList, inColumns } from './help.js'
import { splitCommand } from './read-command-line.js'

/** Wider terminals get no longer lines. */
const COLUMNS_MAX = 110
/** Of what is no terminal. */
const COLUMNS = 80

/** The text of `--help` for a terminal of `columns`: of a command, or of all. */
export const helpOf = async (
  command: Command | undefined,
  commands: readonly Command[],
  columns = COLUMNS,
): Promise<string> => await parserOf(command, commands, Math.min(COLUMNS_MAX, columns)).getHelp()

/**
 * What a shell offers for the last word, which may be empty: commands and flags, or values of a flag. If there is nothing, the
 * shell offers files. SHELL says whether yargs adds descriptions for zsh or fish. yargs itself knows neither `--flag=value`, which
 * shells split differently, nor the values of flags.
 */
export const completionsOf = async (
  words: readonly string[],
  commands: readonly Command[],
): Promise<readonly string[]> => {
  const { before, current } = splitWords(words)
  const { command, words: given } = splitCommand(before, commands)
  const flags = command?.flags ?? {}
  const last = given.at(-1) ?? ''
  const named = last.startsWith('--') ? last.slice('--'.length) : ''
  const flag = flags[named] ?? Object.values(flags).find(({ alias }) => alias === named)
  if (flag?.type === 'string') return await valuesOf(flag, current)
  const argument = Object.values(flags).find(({ type }) => type === 'argument')
  if (argument !== undefined && !current.startsWith('-')) return await valuesOf(argument, current)
  const parser = parserOf(command, commands, COLUMNS_MAX)
  if (command === undefined) for (const { name, describe } of commands) parser.command(name, describe)
  // yargs stumbles over `--constructor`.
  const known = given.filter((word) => !word.startsWith('-') || Object.hasOwn(flags, word.slice('--'.length)))
  return await parser.getCompletion([...known, current])
}

/** Makes two words of `--flag=value`. bash has made three. */
const splitWords = (words: readonly string[]) => {
  const cursor = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  if (cursor === '=') return { before, current: '' }
  if (before.at(-1) === '=') return { before: before.slice(0, -1), current: cursor }
  const [, flag, value = ''] = /^(--[^=]+)=(.*)$/s.exec(cursor) ?? []
  return flag === undefined ? { before, current: cursor } : { before: [...before, flag], current: value }
}

const valuesOf = async (
  { values = [], isList = false }: Flag,
  current: string,
): Promise<readonly string[]> => {
  const known = typeof values === 'function' ? await values() : values
  const given = isList ? current.split(',').slice(0, -1) : []
  return known.filter((value) => !given.includes(value)).map((value) => [...given, value].join(','))
}

/** The parser of a command, or of the list of commands. */
const parserOf = (command: Command | undefined, commands: readonly Command[], columns: number): Argv => {
  const parser = yargs()
    .scriptName('fieldwork-sync')
    .locale('en')
    .version('version', 'Show the version', packageVersion())
    .help('help', 'Show this help')
    .alias('help', 'h')
    .alias('version', 'v')
    .wrap(columns)
  return command === undefined
    ? declareAll(parser, commands)
    : declareOne(parser, command).epilogue(commandHelp(command.name, Object.hasOwn(command.flags, 'config')))
}

const declareOne = (parser: Argv, { name, describe, flags }: Command): Argv => {
  const args = Object.keys(flags).filter((flag) => flags[flag]?.type === 'argument')
  if (args.length > 0) parser.command(['$0', ...args.map((arg) => `[${arg}]`)].join(' '), false)
  parser.usage(`${[`$0 ${name}`, ...args.map((arg) => `<${arg}>`)].join(' ')}\n\n${describe}`)
  for (const [flag, { type, describe, alias, default: defaultDescription }] of Object.entries(flags))
    if (type === 'argument') parser.positional(flag, { type: 'string', describe })
    else
      parser.option(flag, {
        type,
        describe,
        ...(alias !== undefined && { alias }),
        ...(defaultDescription !== undefined && { defaultDescription }),
      })
  const own = Object.keys(flags).filter((flag) => !args.includes(flag) && !(flag in COMMON_GROUPS))
  if (own.length > 0) parser.group(own, 'Options:')
  for (const [flag, title] of Object.entries(COMMON_GROUPS)) if (flag in flags) parser.group(flag, title)
  return parser.group(['help', 'version'], 'General:')
}

/** The flags that many commands have, below those of the command itself. */
const COMMON_GROUPS: Readonly<Record<string, string>> = {
  config: 'Settings:',
  warehouse: 'Settings:',
  shard: 'Settings:',
  'log-level': 'General:',
  json: 'General:',
}

const declareAll = (parser: Argv, commands: readonly Command[]): Argv => {
  const exits = Object.entries(EXITS).map(([code, { meaning }]) => inColumns(code, meaning))
  return parser
    .usage(
      '$0 <command>\n\nSyncs surveys, sample sources and fieldwork progress from the API into DuckDB, Parquet and Delta tables, within its request cap.',
    )
    .epilogue([commandList(commands), 'Exit codes:', ...exits, '', MORE_HELP].join('\n'))
}

const MORE_HELP = 'fieldwork-sync COMMAND --help shows the flags of a command, and two examples.'
