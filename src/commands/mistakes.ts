/** What is wrong with the words of a command line: flags, values and words that a command does not take, each with a hint. */
import { quoted } from '../base/human.js'
import type { Command } from './context.js'
import { type Flags, suggestion } from './flags.js'

/**
 * The problems with flags; if there are none, the problems with the other words. `others` are the words that are no flags and no values.
 */
export const mistakesIn = (
  words: readonly string[],
  others: readonly string[],
  { name, flags }: Pick<Command, 'name' | 'flags'>,
): readonly string[] => {
  const declared = { ...flags, ...COMMON }
  const wrong = words.flatMap((word) => flagMistake(word, name, declared) ?? [])
  // Behind an unknown flag, nobody knows whether a word is its value.
  return wrong.length > 0 ? [...new Set(wrong)] : wordMistake(words, others, name, declared)
}

export const unknownCommand = (word: string, commands: readonly Command[]): string =>
  `there is no command ${shown(word)}${suggestion(
    word,
    commands.map(({ name }) => name),
  )}`

/** Every command has these too. */
const COMMON: Flags = {
  help: { type: 'boolean', describe: '', alias: 'h' },
  version: { type: 'boolean', describe: '', alias: 'v' },
}

/** `-5` and `-` are values; `-x`, `--` and `--x` are flags. A value that begins like a flag has its flag in front, as in `--out=-x`. */
const FLAG = /^(-(?![0-9=])-?)([^=]*)(?:=(.*))?$/s

const flagMistake = (word: string, command: string, declared: Flags): string | null => {
  const [, dashes, typed = '', value] = word === '-' ? [] : (FLAG.exec(word) ?? [])
  if (dashes === undefined) return null
  const isLong = dashes === '--'
  const name = Object.keys(declared).find(
    (known) =>
      (isLong && known === typed) || (declared[known]?.alias === typed && isLong === typed.length > 1),
  )
  const type = declared[name ?? '']?.type ?? 'argument'
  const flag = `${dashes}${typed}`
  if (type === 'argument')
    return `${command} has no flag ${shown(flag)}${HINTS[flag] ?? meant(typed, declared)}`
  const isWrong = type === 'boolean' && value !== undefined && value !== 'true' && value !== 'false'
  return isWrong ? `${flag} takes no value: leave out =${shown(value)}` : null
}

/** A word in a message of one line. */
const shown = (word: string): string => (/^\P{C}{1,80}$/u.test(word) ? word : quoted(word))

const meant = (word: string, declared: Flags): string =>
  suggestion(
    word,
    Object.keys(declared).filter((name) => declared[name]?.type !== 'argument'),
    '--',
  )

/** Hints for flags of other programs that people try. */
const HINTS: Readonly<Record<string, string>> = {
  '--dry-run': ': fieldwork-sync plan shows what sync would request',
  // A flag of earlier versions.
  '--where': ': to choose rows, use fieldwork-sync query "SELECT … WHERE …" --out rows.csv',
}

/** Most words that a command does not take are the rest of a text whose quotes are missing. */
const wordMistake = (
  words: readonly string[],
  others: readonly string[],
  command: string,
  declared: Flags,
): readonly string[] => {
  const takesText = Object.values(declared).some(({ type }) => type === 'argument')
  const [first, ...more] = takesText ? others.slice(1) : others
  if (first === undefined) return []
  const named = [first, ...more].slice(0, WORDS_NAMED_MAX).map(shown)
  if (more.length >= WORDS_NAMED_MAX) named.push('…')
  const cannot = `${command} cannot take ${more.length === 0 ? 'the word' : 'the words'} ${named.join(' ')}`
  const behind = flagBehind(words, first, declared)
  if (behind !== null && declared[behind]?.isList)
    return [`${cannot}: several values need commas without blanks, as in --${behind} a,b`]
  const unquoted = behind === null ? (takesText ? command : null) : `--${behind}`
  if (unquoted !== null) return [`${cannot}: a text with blanks needs quotes, as in ${unquoted} "…"`]
  const ofSurvey = ['survey', 'surveys'].find((flag) => flag in declared)
  return [
    ofSurvey !== undefined && IS_SURVEY.test(first)
      ? `${cannot}: to name a survey, write --${ofSurvey} ${first}`
      : `${cannot}${meant(first, declared)}`,
  ]
}

/** The flag whose value stands right before this word. */
const flagBehind = (words: readonly string[], word: string, declared: Flags): string | null => {
  const index = words.indexOf(word)
  const [, name = ''] =
    /^--([^=]+)=/.exec(words[index - 1] ?? '') ?? /^--([^=]+)$/.exec(words[index - 2] ?? '') ?? []
  return declared[name]?.type === 'string' ? name : null
}

/** `4711` or `acme/4711` */
const IS_SURVEY = /^([\w-]+\/)?\d{1,16}$/

/** An unquoted `*` becomes the names of all files. */
const WORDS_NAMED_MAX = 3
