/** Reads command lines, writes help and completes words, with yargs. */
import yargs, { type ArgumentsCamelCase, type Argv } from 'yargs'
import { EXITS } from '../base/errors.js'
import { packageVersion } from '../base/version.js'
import type { Command } from './context.js'
import { type Flag, type Flags, type FlagValues, usageError } from './flags.js'
import { mistakesIn, unknownCommand } from './mistakes.js'
import { COMMANDS, GROUPS } from './table.js'

/** The longest line, also on a wider terminal. */
const COLUMNS_MAX = 110
/** The width if stdout is not a terminal. */
const COLUMNS = 80

interface Surroundings {
  /** The columns of the terminal; undefined without a terminal. */
  readonly columns: number | undefined
  /** Runs the command that was named, with the values of its flags. */
  run(command: Command, flags: FlagValues): Promise<void>
}

/**
 * Runs the command that `argv` (without `node` and the script) names. Resolves to the help or the version if `argv` requests one, otherwise
 * to an empty text. Throws an error `usage` that lists what is wrong, or the error of the command.
 */
export const runYargs = async (
  argv: readonly string[],
  { columns = COLUMNS, run }: Surroundings,
): Promise<string> => {
  const words = argv.map(escaped)
  const parser = createParser()
    .wrap(Math.min(COLUMNS_MAX, columns))
    .usage(`$0 <command>\n\n${WHAT_IT_DOES}`)
    .epilogue(overview())
    .exitProcess(false)
    .fail((message, error) => {
      throw error?.name === 'YError' ? usageError(message, commandIn(words)?.name ?? '') : error
    })
    // Our checks come before the checks of yargs, which fails at `--constructor`.
    .middleware(({ _: [named, ...others] }) => refuseMistakes(words, named, others.map(String)), true)
  // Flags may stand in front of the command.
  for (const [name, { type }] of Object.entries(ALL_FLAGS))
    if (type === 'boolean') parser.option(name, { type, global: false, hidden: true })
  // The overview lists the commands in groups, so yargs does not list them.
  for (const command of COMMANDS)
    parser.command(
      command.name,
      false,
      (own) => declare(own, command),
      (values) => run(command, flagsOf(command.flags, values)),
    )
  let output = ''
  await parser.parseAsync(words, {}, (_error, _values, text) => {
    output = text
  })
  return output
}

/**
 * What a shell offers for the last word, which may be empty: commands and flags, or values of a flag. For an empty list, the shell offers
 * files. SHELL says whether yargs adds descriptions for zsh or fish. yargs itself knows neither `--flag=value`, which shells split
 * differently, nor the values of flags.
 */
export const completionsOf = async (words: readonly string[]): Promise<readonly string[]> => {
  const { before, current } = splitWords(words)
  const command = commandIn(before)
  const flags = command?.flags ?? {}
  const [, named = ''] = /^--(.*)/s.exec(before.at(-1) ?? '') ?? []
  const flag = flags[named] ?? Object.values(flags).find(({ alias }) => alias === named)
  if (flag?.type === 'string') return await valuesOf(flag, current)
  const argument = Object.values(flags).find(({ type }) => type === 'argument')
  if (argument !== undefined && !current.startsWith('-')) return await valuesOf(argument, current)
  // yargs fails at `--constructor`.
  const known = before.filter(
    (word) => !word.startsWith('-') || Object.hasOwn(flags, word.slice('--'.length)),
  )
  const parser = createParser()
  if (command !== undefined) declare(parser, command)
  else for (const { name, describe } of COMMANDS) parser.command(name, describe)
  return await parser.getCompletion([...known, current])
}

/** Splits `--flag=value` into two words. bash has already split it into three. */
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
  const earlier = isList ? current.split(',').slice(0, -1) : []
  return known.filter((value) => !earlier.includes(value)).map((value) => [...earlier, value].join(','))
}

const createParser = (): Argv =>
  // yargs gets `/`, because the working directory may be gone.
  yargs([], '/')
    .scriptName('fieldwork-sync')
    .locale('en')
    // `--no-check` is a name; `-xyz` is one flag; `007` stays as it is.
    .parserConfiguration({
      'boolean-negation': false,
      'short-option-groups': false,
      'parse-positional-numbers': false,
    })
    .updateStrings({ 'Not enough arguments following: %s': '--%s needs a value' })
    .version('version', 'Show the version', packageVersion())
    .help('help', 'Show this help')
    .alias('help', 'h')
    .alias('version', 'v')

/** The first word that is the name of a command, and not the value of a flag. */
const commandIn = (words: readonly string[]): Command | undefined => {
  const takesNext = (word = '') => word.startsWith('--') && ALL_FLAGS[word.slice(2)]?.type === 'string'
  const names = words.filter((_, at) => !takesNext(words[at - 1]))
  return names.flatMap((word) => COMMANDS.find(({ name }) => name === word) ?? [])[0]
}

const ALL_FLAGS: Flags = Object.assign({}, ...COMMANDS.map(({ flags }) => flags))

/** Throws an error `usage` unless the words name a command, and flags and values that it takes. */
const refuseMistakes = (
  words: readonly string[],
  named: string | number | undefined,
  others: readonly string[],
): void => {
  const command = COMMANDS.find(({ name }) => name === named)
  if (command === undefined && named !== undefined)
    throw usageError(unknownCommand(String(named), COMMANDS), '')
  const problems = mistakesIn(words, others, command ?? { name: 'fieldwork-sync', flags: ALL_FLAGS })
  if (problems.length > 0) throw usageError(problems.join('; '), command?.name ?? '')
  if (command === undefined) throw usageError('say which command to run', '')
}

/** If a flag is given twice, its last value counts; all values count if the flag takes several. */
const flagsOf = (flags: Flags, values: ArgumentsCamelCase): FlagValues => {
  const [, argument] = values._
  return Object.fromEntries(
    Object.entries(flags).flatMap(
      ([name, { type, isList = false }]): (readonly [string, string | boolean])[] => {
        if (type === 'argument') return argument === undefined ? [] : [[name, unescaped(String(argument))]]
        const flagValues = [values[name] ?? []].flat()
        if (flagValues.length === 0) return []
        return [
          [
            name,
            type === 'boolean'
              ? flagValues.at(-1) === true
              : isList
                ? flagValues.join(',')
                : String(flagValues.at(-1)),
          ],
        ]
      },
    ),
  )
}

/** yargs would take SQL that begins with a comment for a flag, so it gets a blank in front. */
const escaped = (word: string): string => (/^--\s/.test(word) ? ` ${word}` : word)
const unescaped = (text: string): string => text.replace(/^ (?=--\s)/, '')

/** The flags that many commands have, listed below the command's own flags. */
const COMMON_GROUPS: Readonly<Record<string, string>> = {
  config: 'Settings:',
  warehouse: 'Settings:',
  shard: 'Settings:',
  'log-level': 'General:',
  json: 'General:',
}

const declare = (parser: Argv, command: Command): Argv => {
  const { name, describe, flags } = command
  const args = Object.keys(flags).filter((flag) => flags[flag]?.type === 'argument')
  parser.usage(`${[`$0 ${name}`, ...args.map((arg) => `<${arg}>`)].join(' ')}\n\n${describe}`)
  for (const [flag, { type, describe, alias, default: defaultDescription }] of Object.entries(flags))
    if (type === 'argument') parser.positional(flag, { type: 'string', describe })
    else
      parser.option(flag, {
        type,
        describe,
        requiresArg: type === 'string',
        ...(alias !== undefined && { alias }),
        ...(defaultDescription !== undefined && { defaultDescription }),
      })
  const own = Object.keys(flags).filter((flag) => !args.includes(flag) && !(flag in COMMON_GROUPS))
  if (own.length > 0) parser.group(own, 'Options:')
  for (const [flag, title] of Object.entries(COMMON_GROUPS)) if (flag in flags) parser.group(flag, title)
  return parser.group(['help', 'version'], 'General:').epilogue(belowFlags(command))
}

const belowFlags = ({ examples, flags, settings }: Command): string => {
  const lines = examples.flatMap(([does, line]) => [`  ${does}:`, `    fieldwork-sync ${line}`])
  const origin = settings ?? ('config' in flags ? FROM_FILE : FROM_FLAGS)
  return ['Examples:', ...lines, '', `Settings: ${origin}.`].join('\n')
}

const FROM_FILE =
  'from the file of --config, or of FIELDWORK_SYNC_CONFIG, or else from ./fieldwork-sync.yaml. Other variables FIELDWORK_SYNC_* override the file, and flags override both'
const FROM_FLAGS = 'only these flags; neither a file nor the environment is read'

const WHAT_IT_DOES =
  'Syncs surveys, sample sources and fieldwork progress from the API into DuckDB, Parquet and Delta tables, within its request cap.'

/** The commands in their groups, and the exit codes. */
const overview = (): string => {
  const groups = Object.entries(GROUPS).flatMap(([title, commands]) => [
    `${title}:`,
    ...commands.map(({ name, describe }) => inColumns(name, describe)),
    '',
  ])
  const exits = Object.entries(EXITS).map(([code, { meaning }]) => inColumns(code, meaning))
  return [...groups, 'Exit codes:', ...exits, '', MORE_HELP].join('\n')
}

const MORE_HELP = 'fieldwork-sync COMMAND --help shows the flags of a command, and two examples.'

/** A line of yargs' layout: a tab divides the two columns, each of which is wrapped by itself. */
const inColumns = (left: string, right: string): string => `  ${left}\t  ${right}`
