/**
 * Loads the settings of a command. The environment overrides the file, and flags override both. All problems are reported
 * together, before anything is requested or written.
 */
import { resolve } from 'node:path'
import { type CapOwner, capKey } from '../base/cap-owner.js'
import type { HttpProxy } from '../base/network.js'
import { createRedactor, Secret } from '../base/secret.js'
import { readTextFile } from '../base/text-file.js'
import { type Chosen, chooseAccounts } from './account-choice.js'
import { type Flags, readGiven, TOKEN_KEYS } from './command-source.js'
import { isLoopback, isPlainRemote, readToken } from './credentials.js'
import type { Environment } from './environment.js'
import { type Layers, layered } from './layers.js'
import { resolveMonitoring } from './monitoring.js'
import { flagText, SETTING_NAMES } from './names.js'
import { type Problem, quoted, SettingsError } from './problems.js'
import { type Proxies, proxyFor, readProxies } from './proxies.js'
import { readPath } from './readers.js'
import type { AccountValues } from './schema.js'
import { type AccountSettings, type Settings, type SettingsWithSecrets, secretsOf } from './settings.js'
import { absentSettingsFile, openSettingsFile, type SettingsFile } from './settings-file.js'
import { type Shard, shardDirectory, shardOf } from './shards.js'
import { fallbackOf } from './shared-rate.js'
import { type OriginOf, problemAt } from './source.js'
import { resolveStorage, storageAddress } from './storage.js'
import { type ReadFile, readText } from './text-file.js'
import type { Path } from './tree.js'

export interface SettingsRequest {
  readonly env: Environment
  readonly flags: Flags
  /** False for commands that need only the warehouse: accounts and their tokens are not read. */
  readonly requireAccounts?: boolean
  /** True for commands whose runs are reported, and `check`. Other commands need not be able to read these addresses. */
  readonly withReports?: boolean
  /** True for commands that work on one account: they have its flags, and `--account` to choose it. */
  readonly oneAccount?: boolean
  /** Ends the reading of files that do not answer. */
  readonly signal: AbortSignal
  /** Default: `readTextFile`. */
  readonly readFile?: ReadFile
  /** The directory that relative paths of flags and environment start from. Default: the working directory of the process. */
  readonly workingDirectory?: string
}

/** Throws a `SettingsError` that names every problem. */
export const loadSettings = async (request: SettingsRequest): Promise<Settings> => {
  const { env, flags, signal, requireAccounts: withAccounts = true, oneAccount = false } = request
  const { withReports = false } = request
  const unused = [...(withAccounts ? [] : ['accounts']), ...(withReports ? [] : ['metrics', 'notify'])]
  const { workingDirectory = process.cwd() } = request
  const { readFile = (path: string) => readTextFile(path, signal) } = request
  const given = readGiven(env, flags).filter(({ ofAccount }) => withAccounts || !ofAccount)

  const config = readPath(given.findLast(({ path }) => path[0] === 'config')?.value)
  const settingsFile = config.ok ? resolve(workingDirectory, config.value) : null
  const file =
    config.ok && settingsFile !== null
      ? await openSettingsFile({ name: config.value, path: settingsFile, env, unused, readFile })
      : absentSettingsFile(workingDirectory)

  const names = file.values.accounts.map(({ name }) => name)
  const choice = withAccounts ? chooseAccounts(flags, given, oneAccount, names) : NO_CHOICE
  const layers = layered(file, given, choice.place, workingDirectory)
  const {
    accounts: _,
    allowInsecureHttp: __,
    config: ___,
    storage: ____,
    metrics: _____,
    notify: ______,
    warehouse,
    ...values
  } = layers.values
  const { shard } = values
  const { problems: proxyProblems, ...proxies } = readProxies(withAccounts || withReports ? env : {})
  const { chosen } = choice
  const resolved = await resolveAccounts({ layers, file, chosen, oneAccount, shard, proxies, readFile })
  const { accounts } = resolved
  // Commands that work on one account have no warehouse.
  const bucket = oneAccount ? NO_STORAGE : resolveStorage(layers, env, shard)
  const { storage } = bucket

  const monitored = await resolveMonitoring({ layers, proxies, shard, readFile, workingDirectory })
  const { metrics, notify } = monitored
  const accountNames = layers.values.accounts
    .map(({ name }) => name)
    .filter((name) => shard === null || shardOf(name, shard.count) === shard.index)

  const shardPath = shard === null ? [] : [shardDirectory(shard)]
  const warehouseDirectory = resolve(workingDirectory, warehouse.directory, ...shardPath)
  const problems = [
    ...layers.problems,
    ...proxyProblems,
    ...choice.problems,
    ...resolved.problems,
    ...bucket.problems,
    ...monitored.problems,
    ...(oneAccount ? [] : warehouseProblems(layers, warehouseDirectory)),
    ...backoffOrder(layers),
  ]
  if (problems.length > 0) {
    const texts = [env.FIELDWORK_SYNC_API_TOKEN ?? '', String(flags.token ?? '')]
    const safe = withoutSecrets(problems, texts, { accounts, storage, metrics, notify })
    const warehouseName = storage === null ? warehouseDirectory : storageAddress(storage)
    const reported = isWarehouseKnown(layers) ? metrics : null
    throw new SettingsError(safe, { warehouse: warehouseName, metrics: reported, notify })
  }
  return immutable({
    ...values,
    accounts,
    accountNames,
    warehouseDirectory,
    storage,
    metrics,
    notify,
    settingsFile,
  })
}

/** Metrics under another name would stay: a later run with right settings does not replace them. */
const isWarehouseKnown = ({ isBroken }: Layers): boolean =>
  ![['storage', 'url'], ['warehouse', 'directory'], ['shard']].some(isBroken)

const NO_STORAGE = { storage: null, problems: [] } as const
const NO_CHOICE = { chosen: 'none', place: null, problems: [] } as const

const warehouseProblems = ({ values, originOf }: Layers, directory: string): readonly Problem[] => {
  const problem = warehouseProblem(values.warehouse.directory, directory)
  return problem === null ? [] : [problemAt(originOf, ['warehouse', 'directory'], problem)]
}

const backoffOrder = ({ values, originOf, isBroken }: Layers): readonly Problem[] => {
  const [base, max] = [
    ['limits', 'backoff_base'],
    ['limits', 'backoff_max'],
  ]
  const { backoffBaseMs, backoffMaxMs } = values.limits
  if (backoffBaseMs <= backoffMaxMs || isBroken(base) || isBroken(max)) return []
  return [problemAt(originOf, max, 'must not be less than limits.backoff_base')]
}

/** Shorter texts are not tokens. Redacting them would leave holes in messages. */
const REDACTED_LENGTH_MIN = 8

/** No reader quotes a credential. This redacts a credential that was put into another setting. */
const withoutSecrets = (
  problems: readonly Problem[],
  tokens: readonly string[],
  settings: SettingsWithSecrets,
): readonly Problem[] => {
  const secrets = [...tokens.map((token) => new Secret(token)), ...secretsOf(settings)]
  const redact = createRedactor(secrets.filter((secret) => secret.reveal().length >= REDACTED_LENGTH_MIN))
  return problems.map(({ where, text }) => ({ where: redact(where), text: redact(text) }))
}

const immutable = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) immutable(part)
  }
  return value
}

// Resolves the accounts that were chosen for a run. Reads tokens from their files, and refuses mistakes that only several
// values together show.

interface AccountsRequest {
  readonly layers: Layers
  readonly file: SettingsFile
  readonly chosen: Chosen
  /** Whether the command has flags that describe an account. */
  readonly oneAccount: boolean
  readonly shard: Shard | null
  readonly proxies: Proxies
  readonly readFile: ReadFile
}

interface Accounts {
  readonly accounts: readonly AccountSettings[]
  readonly problems: readonly Problem[]
}

/** Reports a problem with the value at a path of the settings. */
type At = (path: Path, text: string) => void

interface OneAccount extends AccountsRequest {
  readonly account: AccountValues
  readonly index: number
  readonly at: At
  readonly add: (problem: Problem) => void
}

const resolveAccounts = async (request: AccountsRequest): Promise<Accounts> => {
  const { layers, chosen, shard } = request
  if (chosen === 'none') return { accounts: [], problems: [] }
  const problems: Problem[] = []
  const add = (problem: Problem) => void problems.push(problem)
  const at: At = (path, text) => add(problemAt(layers.originOf, path, text))
  const { accounts } = layers.values
  if (accounts.length === 0) {
    if (!layers.isBroken(['accounts'])) add({ where: 'accounts', text: noAccount(request) })
    return { accounts: [], problems }
  }
  const read = accounts.flatMap((account, index) =>
    chosen === 'all' || chosen.has(index) ? [{ ...request, account, index, at, add }] : [],
  )
  const ofShard = read.filter(
    ({ account }) => shard === null || shardOf(account.name, shard.count) === shard.index,
  )
  const resolved: AccountSettings[] = []
  for (const one of ofShard) resolved.push(...(await resolveAccount(one)))
  refuseNamesTwice(request, at)
  refuseCapsTwice(read, add)
  return { accounts: resolved, problems }
}

const noAccount = ({ oneAccount }: AccountsRequest): string =>
  `no account is configured; ${oneAccount ? 'give --base-url, --id and --token-file, or ' : ''}set FIELDWORK_SYNC_BASE_URL, FIELDWORK_SYNC_API_ID and FIELDWORK_SYNC_API_TOKEN or FIELDWORK_SYNC_API_TOKEN_FILE, or give a settings file that has one by --config`

const refuseNamesTwice = ({ layers, file }: AccountsRequest, at: At): void => {
  const names = file.values.accounts.map(({ name }) => name)
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
  for (const { name, baseUrl, id } of read.map(({ account }) => account)) {
    if (baseUrl === undefined || id === undefined) continue
    const owner: CapOwner = { baseUrl, id }
    const first = firstOf.get(capKey(owner)) ?? name
    firstOf.set(capKey(owner), first)
    if (first !== name)
      add({
        where: 'accounts',
        text: `${first} and ${name} have the same base_url and id; together they would exceed the cap of that account. Remove one, or choose one with --accounts`,
      })
  }
}

const resolveAccount = async (one: OneAccount): Promise<readonly AccountSettings[]> => {
  const { name, baseUrl, id, weight, rateLimit, rate } = one.account
  if (baseUrl === undefined) addMissing(one, ['base_url'])
  if (id === undefined) addMissing(one, ['id'])
  const proxy = baseUrl === undefined ? null : proxyFor(baseUrl, one.proxies)
  if (baseUrl !== undefined) refusePlain(one, baseUrl, proxy)
  const token = await resolveToken(one)
  const { requests, perMs } = rate ?? rateLimit
  const shared = resolveShared(one, requests)
  if (baseUrl === undefined || id === undefined || token === undefined) return []
  return [{ name, baseUrl, id, token, rate: { requests, perMs }, shared, proxy, weight }]
}

/** The token must not cross a network in plain text on its way to the API or to a proxy. */
const refusePlain = (one: OneAccount, baseUrl: string, proxy: HttpProxy | null): void => {
  const toProxy = proxy !== null && new URL(baseUrl).protocol === 'http:' && !isLoopback(proxy.address)
  if (one.layers.values.allowInsecureHttp || !(isPlainRemote(baseUrl) || toProxy)) return
  const advice = isPlainRemote(baseUrl)
    ? 'to another host; use https'
    : `to the proxy of ${proxy?.variable}; name the host in NO_PROXY`
  one.at(
    pathTo(one, 'base_url'),
    `would send the token over plain http ${advice}, or set allow_insecure_http: true in the settings file`,
  )
}

const resolveShared = (one: OneAccount, cap: number): AccountSettings['shared'] => {
  const { shared: url, sharedFallback } = one.account.rateLimit
  const fallback = fallbackOf(sharedFallback, cap)
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
  if (hasBoth(file.values.accounts[one.index])) return refuseBoth(one, file.originOf)
  if (hasBoth(account)) return refuseBoth(one, layers.originOf)
  const { token, tokenFile } = account
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

const hasBoth = (account: AccountValues | undefined): boolean =>
  account?.token !== undefined && account.tokenFile !== undefined

const refuseBoth = (one: OneAccount, originOf: OriginOf): undefined => {
  const { where, name } = originOf(pathTo(one, 'token'))
  const problem = `cannot be set together with ${name === '' ? where : name}; remove one of them`
  one.add(problemAt(originOf, pathTo(one, 'token_file'), problem))
}

const pathTo = ({ index }: OneAccount, ...keys: readonly string[]): Path => ['accounts', index, ...keys]

/** Reports that the account has none of `keys`, unless a wrong value for one of them was reported already. */
const addMissing = (one: OneAccount, keys: readonly string[]): void => {
  if (keys.some((key) => one.layers.isBroken(pathTo(one, key)))) return
  if (one.file.values.accounts.length > 0) {
    one.at(pathTo(one), `has no ${keys.join(' or ')}; add it`)
    return
  }
  const names = SETTING_NAMES.filter(({ ofAccount, path }) => ofAccount && keys.includes(String(path[0])))
  const flags = one.oneAccount ? names.flatMap(({ flag }) => (flag === null ? [] : [flagText(flag)])) : []
  const where = [...flags, ...names.flatMap(({ variable }) => variable ?? [])].join(' or ')
  one.add({ where, text: 'is not set; set it, or give it in a settings file' })
}

// Checks the directory of the warehouse: it must be on this machine, at a path that DuckDB can open.

/** Why `directory`, written as `path` in the settings, cannot hold a warehouse; null if it can. */
const warehouseProblem = (path: string, directory: string): string | null => {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    return `must be a directory of this machine, not an address such as ${quoted(path)}. For a bucket, set storage.url`
  // DuckDB reads a "?" as the beginning of options, and would put its write-ahead log into another directory.
  return directory.includes('?')
    ? `must not have a "?" in its path, which is ${quoted(directory)}: DuckDB cannot open a file there. Give another directory`
    : null
}
