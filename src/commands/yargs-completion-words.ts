/**
 * The parts of completion that yargs does not know: `--flag=value`, which shells split differently, and the values of flags,
 * several of them with commas.
 */
import type { Flag } from './flags.js'

/** Makes two words of `--flag=value`. bash has made three. */
export const splitWords = (words: readonly string[]) => {
  const cursor = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  if (cursor === '=') return { before, current: '' }
  if (before.at(-1) === '=') return { before: before.slice(0, -1), current: cursor }
  const [, flag, value = ''] = /^(--[^=]+)=(.*)$/s.exec(cursor) ?? []
  return flag === undefined ? { before, current: cursor } : { before: [...before, flag], current: value }
}

export const valuesOf = async (
  { values = [], isList = false }: Flag,
  current: string,
): Promise<readonly string[]> => {
  const known = typeof values === 'function' ? await values() : values
  const given = isList ? current.split(',').slice(0, -1) : []
  return known.filter((value) => !given.includes(value)).map((value) => [...given, value].join(','))
}
