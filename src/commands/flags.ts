/** The flags of a command: how they are declared, and errors about wrong ones. */
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
  /** Another name of the flag. */
  readonly alias?: string
  /** Whether the flag takes several values, with commas. */
  readonly isList?: boolean
}

export type Flags = Readonly<Record<string, Flag>>

/** The values of a set of flags. An absent flag was not given. */
export type FlagsOf<Of extends Flags> = {
  readonly [Name in keyof Of]?: ValueOf<Of[Name]['type']> | undefined
}
type ValueOf<Type> = Type extends 'boolean' ? boolean : string

/**
 * Parses a survey of `--survey`, or of another `flag`. `account` is undefined if the text names none: every account that has the survey is
 * meant. Throws an error `usage` for any other text.
 */
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

/** `: did you mean sync?`, or nothing. `prefix` goes before the suggested word. */
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
