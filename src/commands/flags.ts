/** The flags of a command: how they are declared, the check of those that a command line gives, and errors about wrong ones. */
import { ExpectedError } from '../base/errors.js'
import { quoted } from '../base/human.js'
import { nearest } from '../base/suggest.js'

export interface Flag {
  /** `boolean` takes no value; `string` needs one; `argument` is a word without a flag in front. */
  readonly type: 'string' | 'boolean' | 'argument'
  readonly describe: string
  /** For `--help`: the value that the command uses if the flag is not given. */
  readonly default?: string
  /** The values that a shell offers. Without them it offers files. */
  readonly values?: readonly string[] | (() => Promise<readonly string[]>)
  /** Whether the flag takes several values, with commas. */
  readonly isList?: boolean
}

export type Flags = Readonly<Record<string, Flag>>

/** The values of a set of flags. An absent flag was not given. */
export type FlagsOf<Of extends Flags> = {
  readonly [Name in keyof Of]?: ValueOf<Of[Name]['type']> | undefined
}
type ValueOf<Type> = Type extends 'boolean' ? boolean : string

/** Of `--survey`, or one of `flag`. `account` is undefined for every account that has the survey. Throws an error `usage` for another text. */
export const surveyNameOf = (survey: string, command: string, flag = '--survey') => {
  const [, account, id = ''] = /^(?:(.+)\/)?(\d{1,16})$/s.exec(survey) ?? []
  const surveyId = Number(id)
  if (id === '' || !Number.isSafeInteger(surveyId))
    throw usageError(
      `${flag} must ${flag === '--survey' ? 'be the id of a survey' : 'have ids of surveys'}, such as 4711 or acme/4711, not ${quoted(survey)}`,
      command,
    )
  return { account, surveyId }
}

export type FlagValues = Readonly<Record<string, string | boolean | undefined>>

/**
 * The mistakes in the flags and other words of a command, each with a hint. yargs reports only one mistake, suggests no flag, and reads
 * `--full=yes` as false.
 */
export const flagProblems = (words: readonly string[], command: string, flags: Flags): readonly string[] => {
  const all: Readonly<Record<string, Pick<Flag, 'type' | 'isList'>>> = { ...flags, ...COMMON }
  const names = Object.keys(all).filter((name) => all[name]?.type !== 'argument')
  const wrong = words.flatMap((word) => {
    if (isArgumentText(word, flags)) return []
    const [, flag = '', value] = FLAG.exec(word) ?? []
    if (flag === '' || flag === '-h') return []
    const name = flag.slice('--'.length)
    const known = Object.hasOwn(all, name) ? all[name] : undefined
    if (known === undefined || known.type === 'argument' || !flag.startsWith('--'))
      return `${command} has no flag ${flag}${HINTS[flag] ?? suggestion(flag.replace(/^-+/, ''), names, '--')}`
    return known.type === 'boolean' && value !== undefined && !['true', 'false'].includes(value)
      ? `--${name} takes no value: leave out =${value}`
      : []
  })
  // After an unknown flag, nobody knows whether a word is its value.
  return wrong.length > 0 ? wrong : wordProblems(words, command, all)
}

/** For flags of other programs that people try. */
const HINTS: Readonly<Record<string, string>> = {
  '--dry-run': ': fieldwork-sync plan shows what sync would request',
  // A flag of earlier versions.
  '--where': ': to choose rows, use fieldwork-sync query "SELECT … WHERE …" --output rows.csv',
}

/** For a command with an argument: whether a word is a text that yargs would take for flags: stdin, or SQL that begins with a comment. */
export const isArgumentText = (word: string, flags: Readonly<Record<string, Pick<Flag, 'type'>>>): boolean =>
  /^(-$|--\s)/.test(word) && Object.values(flags).some(({ type }) => type === 'argument')

/** Words that are neither flags, nor values of flags, nor arguments. Most are the rest of a text whose quotes are missing. */
const wordProblems = (
  words: readonly string[],
  command: string,
  flags: Readonly<Record<string, Pick<Flag, 'type' | 'isList'>>>,
): readonly string[] => {
  const typeOf = (name = '') => (Object.hasOwn(flags, name) ? flags[name]?.type : undefined)
  const isValue = (at: number): boolean => {
    const type = typeOf(/^--([^=]+)$/.exec(words[at - 1] ?? '')?.[1])
    return type === 'string' || (type === 'boolean' && ['true', 'false'].includes(words[at] ?? ''))
  }
  const taken = Object.values(flags).filter(({ type }) => type === 'argument').length
  // yargs takes the word `help` for `--help`.
  const [first, ...more] = words
    .flatMap((word, at) =>
      (FLAG.test(word) && !isArgumentText(word, flags)) || isValue(at) || word === 'help' ? [] : [at],
    )
    .slice(taken)
  if (first === undefined) return []
  const named = [first, ...more].slice(0, WORDS_NAMED_MAX).map((at) => words[at])
  if (more.length >= WORDS_NAMED_MAX) named.push('…')
  const before = words[isValue(first - 1) ? first - 2 : first - 1] ?? ''
  const [, flag = ''] = FLAG.exec(before) ?? []
  const name = flag.slice('--'.length)
  const unquoted = typeOf(name) === 'string' ? flag : taken > 0 ? command : null
  const names = Object.keys(flags).filter((name) => typeOf(name) !== 'argument')
  const hint =
    unquoted === null
      ? suggestion(words[first] ?? '', names, '--')
      : unquoted === flag && flags[name]?.isList
        ? `: several values need commas without blanks, as in ${flag} a,b`
        : `: a text with blanks needs quotes, as in ${unquoted} "…"`
  return [`${command} cannot take ${more.length === 0 ? 'the word' : 'the words'} ${named.join(' ')}${hint}`]
}

/** An unquoted `*` becomes the names of all files. */
const WORDS_NAMED_MAX = 3

/** `-5` and `-` may be values; `-x`, `--` and `--x` are flags. */
const FLAG = /^(-[^0-9=][^=]*)(?:=(.*))?$/s

/** Every command has these too; yargs declares them. */
const COMMON = { help: { type: 'boolean' }, version: { type: 'boolean' } } as const

/** `: did you mean sync?`, or nothing. `prefix` goes before the word that is meant. */
export const suggestion = (word: string, known: readonly string[], prefix = ''): string => {
  const meant = nearest(word, known)
  return meant === null ? '' : `: did you mean ${prefix}${meant}?`
}

/** The command line is wrong. Exit 2. */
export const usageError = (problem: string, command: string): ExpectedError => {
  const help = ['fieldwork-sync', ...(command === '' ? [] : [command]), '--help'].join(' ')
  return new ExpectedError('usage', `${problem}${problem.endsWith('?') ? '' : '.'} See ${help}`)
}

/** Returns `text` as one of `choices`. Throws an error `usage` with the most similar choice if it is none of them. */
export const choiceOf = <Choice extends string>(
  text: string | undefined,
  choices: readonly Choice[],
  { command, problem }: { readonly command: string; readonly problem: string },
): Choice => {
  const choice = choices.find((known) => known === text)
  if (choice !== undefined) return choice
  throw usageError(`${problem}${text === undefined ? '' : suggestion(text, choices)}`, command)
}
