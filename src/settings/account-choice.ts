/**
 * Which accounts of the settings a command works on: `--account NAME` is one, `--accounts a,b` are some, and `--shard i/n`
 * leaves those of them that belong to the shard.
 */
import { nearest } from '../base/suggest.js'
import { quoted } from './problems.js'
import type { Shard } from './shards.js'

/** What the command line says of it. */
export interface AccountChoice {
  /** For a command that works on one account; undefined for all others. */
  readonly only?: OneAccountOnly | undefined
  /** `--accounts`; undefined = all. */
  readonly names?: string | undefined
  /** Of these only those of the shard. */
  readonly shard?: Shard | undefined
}

export interface OneAccountOnly {
  /** What `--account` said. */
  readonly name: string | undefined
}

/** The places of the chosen ones; `all` where nothing was chosen, `none` after a problem. */
export type Chosen = ReadonlySet<number> | 'all' | 'none'

type Say = (where: string, text: string) => void

/** `known` are the names of the settings file; none where there is no file, or no account in it. */
export const chooseAccounts = (
  { only, names }: AccountChoice,
  known: readonly string[],
  say: Say,
): Chosen => {
  if (only !== undefined) return chooseOne(only, known, say)
  if (names === undefined) return 'all'
  return chooseSome(names, known.length === 0 ? ['default'] : known, say)
}

const chooseOne = ({ name }: OneAccountOnly, known: readonly string[], say: Say): Chosen => {
  if (name === undefined) {
    if (known.length <= 1) return 'all'
    say(
      '--account',
      `is needed: the settings file has ${known.length} accounts; give one of ${known.join(', ')}`,
    )
    return 'none'
  }
  const place = known.indexOf(name)
  if (place !== -1) return new Set([place])
  const advice =
    known.length === 0 ? 'there is no settings file with accounts' : `give one of ${known.join(', ')}`
  say('--account', `names no account of the settings file; ${advice}`)
  return 'none'
}

const chooseSome = (text: string, known: readonly string[], say: Say): Chosen => {
  const names = text.split(',').map((name) => name.trim())
  const unknown = [...new Set(names)].filter((name) => !known.includes(name))
  if (text.trim() === '') say('--accounts', `is empty; give some of ${known.join(', ')}`)
  else if (unknown.length > 0)
    say('--accounts', unknown.map((name) => `${unknownName(name)}; ${adviceFor(name, known)}`).join('; '))
  else if (new Set(names).size < names.length)
    say('--accounts', `names an account twice: ${names.join(',')}; give each once`)
  else return new Set(names.map((name) => known.indexOf(name)))
  return 'none'
}

const unknownName = (name: string): string =>
  name === '' ? 'has a comma too many' : `${quoted(name)} is no account of the settings`

const adviceFor = (name: string, known: readonly string[]): string => {
  const meant = nearest(
    name,
    known.map((one) => one.toLowerCase()),
  )
  const original = known.find((one) => one.toLowerCase() === meant)
  return original === undefined ? `give some of ${known.join(', ')}` : `did you mean ${original}?`
}
