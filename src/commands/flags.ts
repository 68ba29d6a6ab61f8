/**
 * The flags of a command: how they are declared, and how a command line is read. All mistakes of a command line are reported
 * together, with the most similar name for each unknown flag.
 */
import { nearest } from '../base/suggest.js'
import { UsageError } from './usage.js'

export interface Flag {
  /** `boolean` takes no value; `string` needs one. */
  readonly type: 'string' | 'boolean'
  readonly describe: string
  /** For `--help`: the value that the command uses if the flag is not given. */
  readonly default?: string
}

export type Flags = Readonly<Record<string, Flag>>

/** The values of a set of flags. An absent flag was not given. */
export type FlagsOf<Of extends Flags> = {
  readonly [Name in keyof Of]?: ValueOf<Of[Name]['type']> | undefined
}
type ValueOf<Type> = Type extends 'boolean' ? boolean : string

export type FlagValues = Readonly<Record<string, string | boolean | undefined>>

/** Every command has these too. */
export const COMMON_FLAGS = {
  version: { type: 'boolean', describe: 'Show the version' },
  help: { type: 'boolean', describe: 'Show this help' },
} as const

/** Reads the words after the name of `command`. If a flag is given twice, the last one counts. Throws a `UsageError`. */
export const readFlags = (words: readonly string[], command: string, flags: Flags): FlagValues => {
  const values = new Map<string, string | boolean>()
  const problems: string[] = []
  const extra: string[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    const [, name = '', attached] = FLAG.exec(word === '-h' ? '--help' : word) ?? []
    const flag = Object.hasOwn(flags, name) ? flags[name] : undefined
    if (flag === undefined) {
      if (word.startsWith('-')) problems.push(unknownFlag(word, command, flags))
      else extra.push(word)
      continue
    }
    const text = attached ?? nextValue(flag, words[at + 1])
    if (attached === undefined && text !== undefined) at += 1
    values.set(name, flag.type === 'string' ? (text ?? '') : text !== 'false')
    problems.push(...valueProblem(flag, name, text))
  }
  // A word after an unknown flag may be its value, so only the flag is reported.
  const wrong = problems.length > 0 ? problems : unknownWords(extra)
  if (wrong.length > 0) throw new UsageError(wrong.join('; '))
  return Object.fromEntries(values)
}

const FLAG = /^--([^=]+)(?:=(.*))?$/s

/** The next word if it is the value of `flag`. A text that looks like a flag is written as `--name=text`. */
const nextValue = (flag: Flag, next = '--'): string | undefined => {
  const isValue = flag.type === 'boolean' ? isTrueOrFalse(next) : !LOOKS_LIKE_A_FLAG.test(next)
  return isValue ? next : undefined
}

/** `-5` may be a value; `-x` and `--x` are flags. */
const LOOKS_LIKE_A_FLAG = /^-[^0-9]/

const valueProblem = ({ type }: Flag, name: string, text: string | undefined): readonly string[] => {
  if (type === 'string') return text === undefined ? [`--${name} needs a value`] : []
  return text === undefined || isTrueOrFalse(text) ? [] : [`--${name} takes no value: leave out =${text}`]
}

const isTrueOrFalse = (text: string): boolean => text === 'true' || text === 'false'

const unknownFlag = (word: string, command: string, flags: Flags): string => {
  const [flag = ''] = word.split('=')
  const meant = nearest(flag.replace(/^-+/, ''), Object.keys(flags))
  return `${command} has no flag ${flag}${meant === null ? '' : `: did you mean --${meant}?`}`
}

const unknownWords = (words: readonly string[]): readonly string[] =>
  words.length === 0 ? [] : [`Unknown argument${words.length > 1 ? 's' : ''}: ${words.join(', ')}`]
