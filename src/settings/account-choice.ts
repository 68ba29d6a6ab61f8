/**
 * Which accounts of the settings a command works on: `--account NAME` is one, `--accounts a,b` are some. `--shard i/n` then leaves
 * those of them that belong to the shard.
 */
import { nearest } from '../base/suggest.js'
import type { Flags, Given } from './command-source.js'
import { type Problem, quoted } from './problems.js'

/** The places of the chosen ones; `all` where nothing was chosen, `none` after a problem. */
export type Chosen = ReadonlySet<number> | 'all' | 'none'

export interface AccountChoice {
  readonly chosen: Chosen
  /** Of the account that environment and flags describe; null where nothing says which of several it is. */
  readonly place: number | null
  readonly problems: readonly Problem[]
}

type Say = (where: string, text: string) => void

/** `known` are the names of the settings file; none where there is no file, or no account in it. */
export const chooseAccounts = (
  flags: Flags,
  given: readonly Given[],
  oneAccount: boolean,
  known: readonly string[],
): AccountChoice => {
  const problems: Problem[] = []
  const say: Say = (where, text) => void problems.push({ where, text })
  const chosen = oneAccount ? chooseOne(flags.account, known, say) : chooseSome(flags.accounts, known, say)
  const [only = 0] = oneAccount && chosen instanceof Set ? chosen : []
  if (known.length <= 1 || oneAccount || chosen === 'none') return { chosen, place: only, problems }
  for (const { where, ofAccount } of given)
    if (ofAccount)
      say(
        where,
        `cannot be used with the ${known.length} accounts of the settings file; set it there, per account`,
      )
  return { chosen, place: null, problems }
}

const chooseOne = (name: string | undefined, known: readonly string[], say: Say): Chosen => {
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

const chooseSome = (text: string | undefined, inFile: readonly string[], say: Say): Chosen => {
  if (text === undefined) return 'all'
  const known = inFile.length === 0 ? ['default'] : inFile
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
