/**
 * The accounts of a command: which accounts the command works on, and their settings. Reads tokens from their files, and refuses mistakes
 * that show only in several values together.
 */
import { resolve } from 'node:path'
import { capKey } from '../base/cap-owner.js'
import { quoted } from '../base/human.js'
import type { Secret } from '../base/secret.js'
import { nearest } from '../base/suggest.js'
import { secretToken } from './credentials.js'
import { type GivenFlags, type Override, SETTING_NAMES, SETTINGS_FILE_HERE, TOKEN_KEYS } from './names.js'
import { type Proxies, plainProblem, proxyFor } from './proxies.js'
import { bad, filePath, good, type Read, type ReadFile, readAs, readSecret } from './readers.js'
import type { AccountValues } from './schema.js'
import type { AccountSettings } from './settings.js'
import { isInShard } from './shards.js'
import { type Layers, type OriginOf, problemAt, type SettingsFile } from './source.js'
import { type Path, valueAt } from './tree.js'

interface AccountsRequest {
  readonly layers: Layers
  readonly file: SettingsFile
  readonly chosen: Chosen
  /** Whether the command has flags that describe an account. */
  readonly oneAccount: boolean
  readonly proxies: Proxies
  readonly readFile: ReadFile
}

interface AccountRequest extends AccountsRequest {
  readonly account: AccountValues
  /** The path of the account in the settings. */
  readonly path: Path
}

/** Adds problems to the layers. */
export const resolveAccounts = async (request: AccountsRequest): Promise<readonly AccountSettings[]> => {
  const { layers, chosen } = request
  if (chosen.size === 0) return []
  const { accounts: all, shard } = layers.values
  if (all.length === 0 && !layers.isBroken(['accounts']))
    layers.problems.push({ where: request.file.originOf(['accounts']).where, text: noAccount(request) })
  const read = all
    .map((account, index): AccountRequest => ({ ...request, account, path: ['accounts', index] }))
    .filter((_, index) => chosen.has(index))
  const accounts: AccountSettings[] = []
  for (const request of read)
    if (isInShard(request.account.name, shard)) accounts.push(...(await resolveAccount(request)))
  refuseNamesTwice(layers)
  refuseCapsTwice(read, layers)
  return accounts
}

const noAccount = ({ oneAccount }: AccountsRequest): string =>
  `no account is configured. Run fieldwork-sync init: it asks for one, and writes ./${SETTINGS_FILE_HERE}. Or ${oneAccount ? 'give --base-url, --id and --token-file, or ' : ''}set FIELDWORK_SYNC_BASE_URL, FIELDWORK_SYNC_API_ID and FIELDWORK_SYNC_API_TOKEN or FIELDWORK_SYNC_API_TOKEN_FILE, or name a settings file that has one by --config`

const refuseNamesTwice = ({ values, isBroken, refuse }: Layers): void => {
  const names = values.accounts.map(({ name }) => name)
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name)
    const path = ['accounts', index, 'name']
    if (first !== index && !isBroken(path) && !isBroken(['accounts', first, 'name']))
      refuse(path, `is "${name}", the same as accounts[${first}].name; give it another name`)
  }
}

/** Refuses two names for one account: each would use the whole cap of the account at the same time, even in different shards. */
const refuseCapsTwice = (read: readonly AccountRequest[], { problems }: Layers): void => {
  const firstOf = new Map<string, string>()
  for (const { name, base_url: baseUrl, id } of read.map(({ account }) => account)) {
    if (baseUrl === undefined || id === undefined) continue
    const key = capKey({ baseUrl, id })
    const first = firstOf.get(key) ?? name
    firstOf.set(key, first)
    if (first !== name)
      problems.push({
        where: 'accounts',
        text: `${first} and ${name} have the same base_url and id; together they would exceed the cap of that account. Remove one, or choose one with --accounts`,
      })
  }
}

const resolveAccount = async (request: AccountRequest): Promise<readonly AccountSettings[]> => {
  const { name, base_url: baseUrl, id, exclude, rate_limit, rate } = request.account
  if (baseUrl === undefined) addMissing(request, ['base_url'])
  if (id === undefined) addMissing(request, ['id'])
  const proxy = baseUrl === undefined ? null : proxyFor(baseUrl, request.proxies)
  const plain =
    baseUrl === undefined ? null : plainProblem('the token', baseUrl, proxy, request.layers.values)
  if (plain !== null) request.layers.refuse([...request.path, 'base_url'], plain)
  const token = await resolveToken(request)
  const { requests, perMs } = rate ?? { ...rate_limit, perMs: rate_limit.per }
  const shared = resolveShared(request, requests)
  if (baseUrl === undefined || id === undefined || token === undefined) return []
  return [{ name, baseUrl, id, token, rate: { requests, perMs }, shared, proxy, exclude }]
}

const resolveShared = ({ account, layers, path }: AccountRequest, cap: number): AccountSettings['shared'] => {
  const { shared: url, shared_fallback } = account.rate_limit
  const fallback = shared_fallback(cap)
  const refuse = (problem: string) => layers.refuse([...path, 'rate_limit', 'shared_fallback'], problem)
  if (url === undefined) {
    // A fallback without a shared cap is a mistake: the author expects a Redis.
    if (fallback !== null && !layers.isBroken([...path, 'rate_limit', 'shared']))
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

const resolveToken = async (request: AccountRequest): Promise<Secret | undefined> => {
  const { account, layers, file, path } = request
  const { token, token_file: tokenFile } = account
  const pathOfFile = [...path, 'token_file']
  // A file with both settings is wrong even if environment or flags replace them.
  if (
    readAs(secretToken, valueAt(file.tree, [...path, 'token'])).ok &&
    readAs(filePath, valueAt(file.tree, pathOfFile)).ok
  )
    return refuseBoth(request, file.originOf)
  if (token !== undefined && tokenFile !== undefined) return refuseBoth(request, layers.originOf)
  if (tokenFile === undefined) {
    if (token === undefined) addMissing(request, TOKEN_KEYS)
    return token
  }
  const { where, directory } = layers.originOf(pathOfFile)
  const tokenPath = resolve(directory, tokenFile)
  const { read, isReadable } = await readSecret(request.readFile, tokenPath, secretToken)
  if (read.ok) return read.value
  // The path of an unreadable file is not shown: somebody may have put the token itself there.
  const which = isReadable ? tokenPath : 'that it names'
  layers.problems.push({ where, text: `the token file ${which} ${read.problem}` })
  return undefined
}

const refuseBoth = ({ layers, path }: AccountRequest, originOf: OriginOf): undefined => {
  const { where, name } = originOf([...path, 'token'])
  const problem = `cannot be set together with ${name === '' ? where : name}; remove one of them`
  layers.problems.push(problemAt(originOf, [...path, 'token_file'], problem))
}

/** Reports that the account has none of `keys`, unless a wrong value for one of them was reported already. */
const addMissing = ({ layers, file, oneAccount, path }: AccountRequest, keys: readonly string[]): void => {
  if (keys.some((key) => layers.isBroken([...path, key]))) return
  if (valueAt(file.tree, ['accounts', 0]) !== undefined) {
    layers.refuse(path, `has no ${keys.join(' or ')}; add it`)
    return
  }
  const names = SETTING_NAMES.filter((name) => name.ofAccount && keys.includes(String(name.path[0])))
  const flags = oneAccount ? names.flatMap(({ flag }) => (flag === null ? [] : [`--${flag}`])) : []
  const where = [...flags, ...names.flatMap(({ variable }) => variable ?? [])].join(' or ')
  layers.problems.push({ where, text: 'is not set; set it, or give it in a settings file' })
}

/**
 * The indexes of the accounts that a command works on: one by `--account NAME`, several by `--accounts a,b`, all without a choice, none
 * after a problem. Then `--shard i/n` keeps the accounts of the shard.
 */
type Chosen = ReadonlySet<number>

/**
 * `known` are the account names of the settings file; empty without a file, or without accounts in it. `accountIndex` is the
 * account that environment and flags describe; null if they could describe any of several.
 */
export const chooseAccounts = (
  flags: GivenFlags,
  overrides: readonly Override[],
  oneAccount: boolean,
  known: readonly string[],
) => {
  const [where, read] = oneAccount
    ? ['--account', chooseOne(flags.account, known)]
    : ['--accounts', chooseSome(flags.accounts, known)]
  if (!read.ok)
    return { chosen: new Set<number>(), accountIndex: 0, problems: [{ where, text: read.problem }] }
  const chosen = read.value
  const [accountIndex = 0] = chosen
  if (oneAccount || known.length <= 1) return { chosen, accountIndex, problems: [] }
  const text = `cannot be used with the ${known.length} accounts of the settings file; set it for each account in the file`
  const problems = overrides.flatMap(({ where, ofAccount }) => (ofAccount ? [{ where, text }] : []))
  return { chosen, accountIndex: null, problems }
}

const chooseOne = (name: string | undefined, known: readonly string[]): Read<Chosen> => {
  if (name === undefined && known.length <= 1) return good(new Set([0]))
  if (name !== undefined && known.includes(name)) return good(new Set([known.indexOf(name)]))
  const advice = known.length === 0 ? 'give a settings file with accounts' : `give one of ${known.join(', ')}`
  return name === undefined
    ? bad(`is needed: the settings file has ${known.length} accounts; ${advice}`)
    : bad(`does not name an account in the settings file; ${advice}`)
}

const chooseSome = (text: string | undefined, inFile: readonly string[]): Read<Chosen> => {
  const known = inFile.length === 0 ? ['default'] : inFile
  if (text === undefined) return good(new Set(known.keys()))
  const names = text.split(',').map((name) => name.trim())
  const unknown = [...new Set(names)].filter((name) => !known.includes(name))
  if (text.trim() === '') return bad(`is empty; give some of ${known.join(', ')}`)
  if (unknown.length > 0) return bad(unknown.map((name) => unknownName(name, known)).join('; '))
  return new Set(names).size < names.length
    ? bad(`names an account twice: ${names.join(',')}; give each account once`)
    : good(new Set(names.map((name) => known.indexOf(name))))
}

const unknownName = (name: string, known: readonly string[]): string => {
  const what =
    name === '' ? 'has an empty name between commas' : `${quoted(name)} is not an account in the settings`
  const meant = nearest(name, known)
  return `${what}; ${meant === null ? `give some of ${known.join(', ')}` : `did you mean ${meant}?`}`
}
