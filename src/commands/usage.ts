/** Wrong command lines, and the parts of a command line that are needed before its flags are read. */
import { ExpectedError } from '../base/errors.js'
import { nearest } from '../base/suggest.js'

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
  const meant = text === undefined ? null : nearest(text, choices)
  throw usageError(`${problem}${meant === null ? '' : `: did you mean ${meant}?`}`, command)
}

/** Whether `--json` is given. It reads argv, because an error may come before the flags are parsed. */
export const wantsJson = (argv: readonly string[]): boolean =>
  argv.includes('--json') || argv.includes('--json=true')

/** The value of `--token`, which must be redacted in errors about the command line. */
export const tokenIn = (argv: readonly string[]): string | undefined =>
  argv.find((word) => word.startsWith('--token='))?.slice('--token='.length) ??
  (argv.includes('--token') ? argv[argv.indexOf('--token') + 1] : undefined)
