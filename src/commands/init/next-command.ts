/** The command line to type next, as this one was typed. */
import { basename, delimiter, dirname, relative } from 'node:path'
import type { Environment } from '../../settings/environment.js'

/** `script` is `process.argv[1]`: the file that Node runs, or a link to it. */
export const nextCommand = (words: readonly string[], script: string | undefined, env: Environment): string =>
  [...program(script ?? '', env), ...words].map(quoted).join(' ')

const program = (script: string, env: Environment): readonly string[] => {
  const name = basename(script)
  if (!name.endsWith('.js'))
    return [(env.PATH ?? '').split(delimiter).includes(dirname(script)) ? name : script]
  const path = relative(process.cwd(), script)
  return ['node', path.startsWith('..') ? script : path]
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
