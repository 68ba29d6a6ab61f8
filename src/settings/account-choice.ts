/**
 * Chooses the accounts that a command works on: one by `--account NAME`, several by `--accounts a,b`. Of these, `--shard i/n` then
 * keeps the accounts that belong to the shard.
 */
import { nearest } from '../base/suggest.js'
import type { Flags, Given } from './command-source.js'
import { type Problem, quoted } from './problems.js'

/** The indexes of the chosen accounts; `all` without a choice, `none` after a problem. */
export type Chosen = ReadonlySet<number> | 'all' | 'none'

export interface AccountChoice {
  readonly chosen: Chosen
  /** Index of the account that environment and flags describe; null if they could describe any of several. */
  readonly place: number | null
  readonly problems: readonly Problem[]
}

type Report = (where: string, text: string) => void

/** `known` are the account names of the settings file; empty without a file, or without accounts in it. */
export const chooseAccounts = (
  flags: Flags,
  given: readonly Given[],
  oneAccount: boolean,
  known: readonly string[],
): AccountChoice => {
  const problems: Problem[] = []
  const report: Report = (where, text) => void problems.push({ where, text })
  const chosen = oneAccount
    ? chooseOne(flags.account, known, report)
    : chooseSome(flags.accounts, known, report)
  const [only = 0] = oneAccount && chosen instanceof Set ? chosen : []
  if (known.length <= 1 || oneAccount || chosen === 'none') return { chosen, place: only, problems }
  for (const { where, ofAccount } of given)
    if (ofAccount)
      report(
        where,
        `cannot be used with the ${known.length} accounts of the settings file; set it for each account in the file`,
      )
  return { chosen, place: null, problems }
}

const chooseOne = (name: string | undefined, known: readonly string[], report: Report): Chosen => {
  if (name === undefined) {
    if (known.length <= 1) return 'all'
    report(
      '--account',
      `is needed: the settings file has ${known.length} accounts; give one of ${known.join(', ')}`,
    )
    return 'none'
  }
  const place = known.indexOf(name)
  if (place !== -1) return new Set([place])
  const advice = known.length === 0 ? 'give a settings file with accounts' : `give one of ${known.join(', ')}`
  report('--account', `does not name an account in the settings file; ${advice}`)
  return 'none'
}

const chooseSome = (text: string | undefined, inFile: readonly string[], report: Report): Chosen => {
  if (text === undefined) return 'all'
  const known = inFile.length === 0 ? ['default'] : inFile
  const names = text.split(',').map((name) => name.trim())
  const unknown = [...new Set(names)].filter((name) => !known.includes(name))
  if (text.trim() === '') report('--accounts', `is empty; give some of ${known.join(', ')}`)
  else if (unknown.length > 0)
    report('--accounts', unknown.map((name) => `${unknownName(name)}; ${adviceFor(name, known)}`).join('; '))
  else if (new Set(names).size < names.length)
    report('--accounts', `names an account twice: ${names.join(',')}; give each account once`)
  else return new Set(names.map((name) => known.indexOf(name)))
  return 'none'
}

const unknownName = (name: string): string =>
  name === '' ? 'has an empty name between commas' : `${quoted(name)} is not an account in the settings`

const adviceFor = (name: string, known: readonly string[]): string => {
  const meant = nearest(
    name,
    known.map((one) => one.toLowerCase()),
  )
  const original = known.find((one) => one.toLowerCase() === meant)
  return original === undefined ? `give some of ${known.join(', ')}` : `did you mean ${original}?`
}
