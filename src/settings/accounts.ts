/**
 * Resolves the accounts that were chosen for a run. Reads tokens from their files, and refuses mistakes that only several
 * values together show.
 */
import { resolve } from 'node:path'
import { capKey } from '../base/cap-owner.js'
import type { HttpProxy } from '../base/network.js'
import type { Secret } from '../base/secret.js'
import { nearest } from '../base/suggest.js'
import { isLoopback, isPlainRemote, readToken } from './credentials.js'
import { type Flags, type Given, SETTING_NAMES, TOKEN_KEYS } from './names.js'
import { type Problem, quoted } from './problems.js'
import { type Proxies, proxyFor } from './proxies.js'
import { type ReadFile, readPath, readText } from './readers.js'
import type { AccountValues } from './schema.js'
import type { AccountSettings } from './settings.js'
import { type Shard, shardOf } from './shards.js'
import type { Layers } from './source.js'
import { type OriginOf, problemAt, type SettingsFile } from './source.js'
import { type Path, valueAt } from './tree.js'

export interface AccountsRequest {
  readonly layers: Layers
  readonly file: SettingsFile
  readonly chosen: Chosen
  /** Whether the command has flags that describe an account. */
  readonly oneAccount: boolean
  readonly shard: Shard | null
  readonly proxies: Proxies
  readonly readFile: ReadFile
}

export interface Accounts {
  readonly accounts: readonly AccountSettings[]
  readonly problems: readonly Problem[]
}

interface OneAccount extends AccountsRequest {
  readonly account: AccountValues
  readonly index: number
  /** Reports a problem with the value at a path of the settings. */
  readonly at: (path: Path, text: string) => void
  readonly add: (problem: Problem) => void
}

export const resolveAccounts = async (request: AccountsRequest): Promise<Accounts> => {
  const { layers, chosen, shard } = request
  const problems: Problem[] = []
  const add = (problem: Problem) => void problems.push(problem)
  const at: OneAccount['at'] = (path, text) => add(problemAt(layers.originOf, path, text))
  const all = layers.values.accounts
  if (chosen !== 'none' && all.length === 0 && !layers.isBroken(['accounts']))
    add({ where: 'accounts', text: noAccount(request) })
  const read = all.flatMap((account, index) =>
    chosen === 'all' || (chosen !== 'none' && chosen.has(index))
      ? [{ ...request, account, index, at, add }]
      : [],
  )
  const accounts: AccountSettings[] = []
  for (const one of read)
    if (shard === null || shardOf(one.account.name, shard.count) === shard.index)
      accounts.push(...(await resolveAccount(one)))
  if (chosen !== 'none') refuseNamesTwice(request, at)
  refuseCapsTwice(read, add)
  return { accounts, problems }
}

const noAccount = ({ oneAccount }: AccountsRequest): string =>
  `no account is configured; ${oneAccount ? 'give --base-url, --id and --token-file, or ' : ''}set FIELDWORK_SYNC_BASE_URL, FIELDWORK_SYNC_API_ID and FIELDWORK_SYNC_API_TOKEN or FIELDWORK_SYNC_API_TOKEN_FILE, or give a settings file that has one by --config`

const refuseNamesTwice = ({ layers }: AccountsRequest, at: OneAccount['at']): void => {
  const names = layers.values.accounts.map(({ name }) => name)
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name)
    const path = ['accounts', index, 'name']
    if (first !== index && !layers.isBroken(path) && !layers.isBroken(['accounts', first, 'name']))
      at(path, `is "${name}", the same as accounts[${first}].name; give it another name`)
  }
}

/** Two names for one account would each use its whole cap at the same time, even in different shards. */
const refuseCapsTwice = (read: readonly OneAccount[], add: (problem: Problem) => void): void => {
  const firstOf = new Map<string, string>()
  for (const { name, base_url: baseUrl, id } of read.map(({ account }) => account)) {
    if (baseUrl === undefined || id === undefined) continue
    const key = capKey({ baseUrl, id })
    const first = firstOf.get(key) ?? name
    firstOf.set(key, first)
    if (first !== name)
      add({
        where: 'accounts',
        text: `${first} and ${name} have the same base_url and id; together they would exceed the cap of that account. Remove one, or choose one with --accounts`,
      })
  }
}

const resolveAccount = async (one: OneAccount): Promise<readonly AccountSettings[]> => {
  const { name, base_url: baseUrl, id, weight, rate_limit, rate } = one.account
  if (baseUrl === undefined) addMissing(one, ['base_url'])
  if (id === undefined) addMissing(one, ['id'])
  const proxy = baseUrl === undefined ? null : proxyFor(baseUrl, one.proxies)
  if (baseUrl !== undefined) refusePlain(one, baseUrl, proxy)
  const token = await resolveToken(one)
  const { requests, perMs } = rate ?? { ...rate_limit, perMs: rate_limit.per }
  const shared = resolveShared(one, requests)
  if (baseUrl === undefined || id === undefined || token === undefined) return []
  return [{ name, baseUrl, id, token, rate: { requests, perMs }, shared, proxy, weight }]
}

/** The token must not cross a network in plain text on its way to the API or to a proxy. */
const refusePlain = (one: OneAccount, baseUrl: string, proxy: HttpProxy | null): void => {
  const toProxy = proxy !== null && new URL(baseUrl).protocol === 'http:' && !isLoopback(proxy.address)
  if (one.layers.values.allow_insecure_http || !(isPlainRemote(baseUrl) || toProxy)) return
  const advice = isPlainRemote(baseUrl)
    ? 'to another host; use https'
    : `to the proxy of ${proxy?.variable}; name the host in NO_PROXY`
  one.at(
    pathTo(one, 'base_url'),
    `would send the token over plain http ${advice}, or set allow_insecure_http: true in the settings file`,
  )
}

const resolveShared = (one: OneAccount, cap: number): AccountSettings['shared'] => {
  const { shared: url, shared_fallback } = one.account.rate_limit
  const fallback = shared_fallback(cap)
  const refuse = (problem: string) => one.at(pathTo(one, 'rate_limit', 'shared_fallback'), problem)
  if (url === undefined) {
    // A fallback without a shared cap is a mistake: its author expects a Redis.
    if (fallback !== null && !one.layers.isBroken(pathTo(one, 'rate_limit', 'shared')))
      refuse(
        'needs a shared cap, but rate_limit.shared is not set; set it to a Redis, or remove shared_fallback',
      )
    return null
  }
  if (fallback !== null && fallback < 1)
    refuse(`is less than one request of the cap of ${cap}; give a higher percentage, or stop`)
  if (fallback !== null && fallback > cap)
    refuse(`is more than the cap of ${cap} requests; give at most ${cap}`)
  return { url, fallback }
}

const resolveToken = async (one: OneAccount): Promise<Secret | undefined> => {
  const { account, layers, file } = one
  const path = pathTo(one, 'token_file')
  // A file with both is wrong even if environment or flags replace them.
  const [ofFile, pathOfFile] = [valueAt(file.tree, pathTo(one, 'token')), valueAt(file.tree, path)]
  if (readToken(ofFile).ok && readPath(pathOfFile).ok) return refuseBoth(one, file.originOf)
  if (account.token !== undefined && account.token_file !== undefined) return refuseBoth(one, layers.originOf)
  const { token, token_file: tokenFile } = account
  if (tokenFile === undefined) {
    if (token === undefined) addMissing(one, TOKEN_KEYS)
    return token
  }
  const { where, directory } = layers.originOf(path)
  const tokenPath = resolve(directory, tokenFile)
  const text = await readText(one.readFile, tokenPath)
  const read = text.ok ? readToken(text.value.replace(/[\r\n]+$/, '')) : text
  if (read.ok) return read.value
  // The path of an unreadable file is not shown: somebody may have put the token itself there.
  const which = text.ok ? tokenPath : 'that it names'
  one.add({ where, text: `the token file ${which} ${read.problem}` })
  return undefined
}

const refuseBoth = (one: OneAccount, originOf: OriginOf): undefined => {
  const { where, name } = originOf(pathTo(one, 'token'))
  const problem = `cannot be set together with ${name === '' ? where : name}; remove one of them`
  one.add(problemAt(originOf, pathTo(one, 'token_file'), problem))
}

const pathTo = ({ index }: OneAccount, ...keys: readonly string[]): Path => ['accounts', index, ...keys]

/** Reports that the account has none of `keys`, unless a wrong value for one of them was reported already. */
const addMissing = (one: OneAccount, keys: readonly string[]): void => {
  if (keys.some((key) => one.layers.isBroken(pathTo(one, key)))) return
  if (valueAt(one.file.tree, ['accounts', 0]) !== undefined) {
    one.at(pathTo(one), `has no ${keys.join(' or ')}; add it`)
    return
  }
  const names = SETTING_NAMES.filter(({ ofAccount, path }) => ofAccount && keys.includes(String(path[0])))
  const flags = one.oneAccount ? names.flatMap(({ flag }) => (flag === null ? [] : [`--${flag}`])) : []
  const where = [...flags, ...names.flatMap(({ variable }) => variable ?? [])].join(' or ')
  one.add({ where, text: 'is not set; set it, or give it in a settings file' })
}

/**
 * Chooses the accounts that a command works on: one by `--account NAME`, several by `--accounts a,b`. Of these, `--shard i/n` then
 * keeps the accounts that belong to the shard.
 */

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
  if (name === undefined && known.length <= 1) return 'all'
  if (name !== undefined && known.includes(name)) return new Set([known.indexOf(name)])
  const advice = known.length === 0 ? 'give a settings file with accounts' : `give one of ${known.join(', ')}`
  report(
    '--account',
    name === undefined
      ? `is needed: the settings file has ${known.length} accounts; ${advice}`
      : `does not name an account in the settings file; ${advice}`,
  )
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
  const byLower = new Map(known.map((one) => [one.toLowerCase(), one]))
  const meant = byLower.get(nearest(name, [...byLower.keys()]) ?? '')
  return meant === undefined ? `give some of ${known.join(', ')}` : `did you mean ${meant}?`
}
