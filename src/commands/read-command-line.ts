/**
 * Reads command lines, and says what is wrong with them. Every command does so, and yargs takes 20 ms of CPU to load: it is only for help
 * and completion (`yargs.ts`).
 */
import { quoted } from '../base/human.js'
import type { Command } from './context.js'
import { type Flag, type FlagValues, suggestion, usageError } from './flags.js'

export interface CommandLine {
  readonly command: Command | undefined
  readonly flags: FlagValues
  /** What to print instead of running the command. If null, `command` is present. */
  readonly asksFor: 'help' | 'version' | null
}

/**
 * Reads `argv` (without `node` and the script). If a flag is given twice, the last one counts, or both if it takes several values. Throws
 * an error `usage`, which lists all wrong flags.
 */
export const readCommandLine = (argv: readonly string[], commands: readonly Command[]): CommandLine => {
  const { command, words } = splitCommand(argv, commands)
  const declared: Declared = Object.assign(
    {},
    ...(command === undefined ? commands : [command]).map(({ flags }) => flags),
    COMMON,
  )
  const name = command?.name ?? 'fieldwork-sync'
  const { values, others, wrong, valueless } = readWords(words, name, declared)
  const args =
    command === undefined ? [] : Object.keys(declared).filter((flag) => declared[flag]?.type === 'argument')
  const more = others.slice(args.length)
  // After an unknown flag, nobody knows whether a word is its value.
  const problems = [
    command === undefined ? unknownCommand(others, commands) : [],
    wrong,
    othersProblem(more, name, declared),
    valueless,
  ].find(({ length }) => length > 0)
  if (problems !== undefined) throw usageError(problems.join('; '), command?.name ?? '')
  const { help, version, ...flags } = values
  const asksFor = help === true ? 'help' : version === true ? 'version' : null
  if (command === undefined && asksFor === null) throw usageError('say which command to run', '')
  for (const [at, { word }] of others.entries()) flags[args[at] ?? ''] = word
  return { command, flags, asksFor }
}

/** The command that `argv` names, and the other words. */
export const splitCommand = (argv: readonly string[], commands: readonly Command[]) => {
  const place = argv.findIndex(
    (word, at) => commands.some(({ name }) => name === word) && !takesNext(argv[at - 1], commands),
  )
  const command = commands.find(({ name }) => name === argv[place])
  return { command, words: command === undefined ? argv : argv.toSpliced(place, 1) }
}

/** Whether the word after this one is its value. In front of the command, the flags of every command count. */
const takesNext = (word: string | undefined, commands: readonly Command[]): boolean =>
  word?.startsWith('--') === true &&
  commands.some(({ flags }) =>
    Object.entries(flags).some(
      ([name, { type, alias }]) => type === 'string' && [name, alias].includes(word.slice(2)),
    ),
  )

const unknownCommand = ([first]: readonly Other[], commands: readonly Command[]): readonly string[] => {
  const names = commands.map(({ name }) => name)
  return first === undefined
    ? []
    : [`there is no command ${shown(first.word)}${suggestion(first.word, names)}`]
}

type Declared = Readonly<Record<string, Pick<Flag, 'type' | 'isList' | 'alias'>>>

/** Every command has these too. */
const COMMON = { help: { type: 'boolean', alias: 'h' }, version: { type: 'boolean', alias: 'v' } } as const

/** `-5` and `-` may be values; `-x`, `--` and `--x` are flags. */
const FLAG = /^-[^0-9=][^=]*/

/**
 * `flag` is as it was written, and `name` that of the flag: `help` of `-h`, `out` of `--output`. The text of a
 * command may be SQL that begins with a comment.
 */
const flagIn = (word: string, declared: Declared) => {
  const isText = /^--\s/.test(word) && Object.values(declared).some(({ type }) => type === 'argument')
  const [flag = null] = FLAG.exec(word) ?? []
  if (isText || flag === null) return null
  const isLong = flag.startsWith('--')
  const given = flag.slice(isLong ? 2 : 1)
  const aliased = Object.keys(declared).find(
    (name) => declared[name]?.alias === given && isLong === given.length > 1,
  )
  const name = aliased ?? (isLong ? given : '')
  return { flag, name, value: word === flag ? undefined : word.slice(`${flag}=`.length) }
}

interface Other {
  readonly word: string
  /** The flag whose value is right before it. */
  readonly behind: string | null
}

/** The values of the flags, all other words, and the mistakes in flags, each with a hint. */
const readWords = (words: readonly string[], command: string, declared: Declared) => {
  const values: Record<string, string | boolean> = {}
  const [others, valueless]: [Other[], string[]] = [[], []]
  const wrong = new Set<string>()
  /** The flag whose value the next word may be, and the one whose value was the last. */
  let [open, behind]: [string | null, string | null] = [null, null]
  const isText = (name: string | null) => name !== null && declared[name]?.type === 'string'
  const use = (name: string, value: string) => {
    const sum = declared[name]?.isList && values[name] !== undefined ? `${values[name]},${value}` : value
    values[name] = isText(name) ? sum : value === 'true'
    behind = isText(name) ? name : null
  }
  const close = () => {
    if (open !== null && isText(open)) valueless.push(`--${open} needs a value`)
    open = null
  }
  for (const word of words) {
    const given = flagIn(word, declared)
    if (given === null) {
      if (open !== null && (isText(open) || isBoolean(word))) use(open, word)
      else if (word === 'help') values.help = true
      else others.push({ word, behind })
      open = null
      continue
    }
    close()
    // To other programs, no word behind it is a flag.
    if (word === '--') {
      wrong.add(`${command} has no flag --`)
      break
    }
    const { name, value } = given
    const mistake = mistakeIn(command, given, declared)
    if (mistake !== null) wrong.add(mistake)
    else if (value !== undefined) use(name, value)
    else {
      open = name
      if (!isText(name)) use(name, 'true')
    }
  }
  close()
  return { values, others, wrong: [...wrong], valueless }
}

const mistakeIn = (
  command: string,
  { flag, name, value }: NonNullable<ReturnType<typeof flagIn>>,
  declared: Declared,
): string | null => {
  if (!flagNames(declared).includes(name))
    return `${command} has no flag ${shown(flag)}${HINTS[flag] ?? meant(flag, declared)}`
  const isWrong = declared[name]?.type === 'boolean' && value !== undefined && !isBoolean(value)
  return isWrong ? `${flag} takes no value: leave out =${shown(value)}` : null
}

const isBoolean = (word: string): boolean => word === 'true' || word === 'false'

const flagNames = (declared: Declared): readonly string[] =>
  Object.keys(declared).filter((name) => declared[name]?.type !== 'argument')

/** A word in a message of one line. */
const shown = (word: string): string => (/^\P{C}{1,80}$/u.test(word) ? word : quoted(word))

const meant = (word: string, declared: Declared): string =>
  suggestion(word.replace(/^-+/, ''), flagNames(declared), '--')

/** For flags of other programs that people try. */
const HINTS: Readonly<Record<string, string>> = {
  '--dry-run': ': fieldwork-sync plan shows what sync would request',
  // A flag of earlier versions.
  '--where': ': to choose rows, use fieldwork-sync query "SELECT … WHERE …" --out rows.csv',
}

/** Words that are neither flags, nor values of flags, nor arguments. Most are the rest of a text whose quotes are missing. */
const othersProblem = (others: readonly Other[], command: string, declared: Declared): readonly string[] => {
  const [first, ...more] = others
  if (first === undefined) return []
  const named = others.slice(0, WORDS_NAMED_MAX).map(({ word }) => shown(word))
  if (more.length >= WORDS_NAMED_MAX) named.push('…')
  const takesText = Object.values(declared).some(({ type }) => type === 'argument')
  const unquoted = first.behind !== null ? `--${first.behind}` : takesText ? command : null
  const ofSurvey = ['survey', 'surveys'].find((flag) => flag in declared)
  if (unquoted === null && ofSurvey !== undefined && IS_SURVEY.test(first.word))
    return [
      `${command} cannot take the word ${named.join(' ')}: to name a survey, write --${ofSurvey} ${first.word}`,
    ]
  const hint =
    unquoted === null
      ? meant(first.word, declared)
      : first.behind !== null && declared[first.behind]?.isList
        ? `: several values need commas without blanks, as in ${unquoted} a,b`
        : `: a text with blanks needs quotes, as in ${unquoted} "…"`
  return [`${command} cannot take ${more.length === 0 ? 'the word' : 'the words'} ${named.join(' ')}${hint}`]
}

/** `4711` or `acme/4711` */
const IS_SURVEY = /^([\w-]+\/)?\d{1,16}$/

/** An unquoted `*` becomes the names of all files. */
const WORDS_NAMED_MAX = 3
