/**
 * The accounts of a run: those of the file, with what the environment says about the only one laid over it, or
 * one called `default` from the environment alone. Here tokens are fetched and what must not be is refused.
 */
import { dirname, resolve } from 'node:path'
import { type CapOwner, capKey } from '../base/cap-owner.js'
import type { Secret } from '../base/secret.js'
import { type AccountChoice, chooseAccounts } from './account-choice.js'
import { isLoopback, isPlainRemote, readToken } from './credentials.js'
import {
  ACCOUNT_FLAGS,
  type AccountVariable,
  type EnvironmentValues,
  TOKEN_VARIABLES,
} from './environment.js'
import { type FileAccount, fileSchema } from './file-schema.js'
import type { Outcome, Problem } from './problems.js'
import { type Proxies, type ProxySettings, proxyFor } from './proxies.js'
import type { AccountSettings } from './settings.js'
import type { SettingsFile } from './settings-file.js'
import { type Shard, shardOf } from './shards.js'
import { shareOf } from './shared-rate.js'
import { type ReadFile, readText } from './text-file.js'
import type { Path } from './yaml-tree.js'

export interface AccountsRequest extends AccountChoice {
  readonly file: SettingsFile
  /** Absolute path of the settings file; null when there is none. */
  readonly filePath: string | null
  readonly environment: EnvironmentValues
  readonly proxies: Proxies
  readonly readFile: ReadFile
  readonly workingDirectory: string
}

export const resolveAccounts = (request: AccountsRequest): Outcome<readonly AccountSettings[]> => {
  const problems: Problem[] = []
  const { file, environment } = request
  const { accounts } = file.settings
  const say = (where: string, text: string) => problems.push({ where, text })
  const names = accounts.map(({ name }) => name)
  const chosen = chooseAccounts(request, names, say)
  if (chosen === 'none') return { values: [], problems }
  // What the environment says is said of one account, and of which is clear only here.
  const isOne = accounts.length <= 1 || (request.only !== undefined && chosen !== 'all')
  if (!isOne) {
    for (const name of environment.given) {
      say(
        environment.label(name),
        `cannot be used with the ${accounts.length} accounts of the settings file; set it there, per account`,
      )
    }
  }
  if (accounts.length === 0 && environment.given.length === 0) {
    if (!file.isBroken(['accounts'])) {
      say(
        'accounts',
        request.only === undefined
          ? `there is none: set ${NEEDED.join(', ')}, or name a settings file that has one with --config`
          : `there is none: give --base-url, --id and --token-file, set ${NEEDED.join(', ')}, or name a settings file that has one with --config`,
      )
    }
    return { values: [], problems }
  }
  const overlay = isOne ? environment : { ...NOTHING, label: environment.label }
  const declared = accounts.length === 0 ? fileSchema.parse({ accounts: [{}] }).accounts : accounts
  const values = declared.flatMap((account, index) =>
    (chosen === 'all' || chosen.has(index)) && isOfShard(account.name, request.shard)
      ? resolveAccount({ ...request, account, overlay, index, inFile: accounts.length > 0 }, say)
      : [],
  )
  sayTwice(file, say)
  sayShared(
    declared.flatMap(({ name, base_url, id }, index) => {
      const [baseUrl, ofId] = [overlay.baseUrl ?? base_url, overlay.id ?? id]
      const isRead = chosen === 'all' || chosen.has(index)
      return isRead && baseUrl !== undefined && ofId !== undefined ? [{ name, baseUrl, id: ofId }] : []
    }),
    say,
  )
  return { values, problems }
}

const isOfShard = (name: string, shard: Shard | undefined): boolean =>
  shard === undefined || shardOf(name, shard.count) === shard.index

const sayTwice = (file: SettingsFile, say: Say): void => {
  const { accounts } = file.settings
  for (const [index, { name }] of accounts.entries()) {
    const first = accounts.findIndex((other) => other.name === name)
    const path = ['accounts', index, 'name']
    if (first !== index && !file.isBroken(path) && !file.isBroken(['accounts', first, 'name']))
      say(
        file.where(path),
        `accounts[${index}].name is "${name}", as is accounts[${first}].name; names must differ`,
      )
  }
}

/** Two names for one account would each take its whole cap, at the same time; so would two shards that have one name each. */
const sayShared = (accounts: readonly (CapOwner & { readonly name: string })[], say: Say): void => {
  const firstOf = new Map<string, string>()
  for (const account of accounts) {
    const { name } = account
    const first = firstOf.get(capKey(account)) ?? name
    firstOf.set(capKey(account), first)
    if (first !== name)
      say(
        'accounts',
        `${first} and ${name} have the same base_url and id: read side by side, they would exceed its cap together. Remove one, or choose with --accounts`,
      )
  }
}

const NEEDED = [
  'FIELDWORK_SYNC_BASE_URL',
  'FIELDWORK_SYNC_API_ID',
  'FIELDWORK_SYNC_API_TOKEN or FIELDWORK_SYNC_API_TOKEN_FILE',
]

type Overlay = Pick<EnvironmentValues, 'baseUrl' | 'id' | 'token' | 'tokenFile' | 'rate' | 'given' | 'label'>

const NOTHING: Omit<Overlay, 'label'> = {
  baseUrl: undefined,
  id: undefined,
  token: undefined,
  tokenFile: undefined,
  rate: undefined,
  given: [],
}

interface OneAccount extends AccountsRequest {
  readonly account: FileAccount
  readonly overlay: Overlay
  readonly index: number
  readonly inFile: boolean
}

type Say = (where: string, text: string) => void

const resolveAccount = (one: OneAccount, say: Say): readonly AccountSettings[] => {
  const { account, overlay, file } = one
  const baseUrl = overlay.baseUrl ?? account.base_url
  const id = overlay.id ?? account.id
  if (baseUrl === undefined) sayMissing(one, 'base_url', ['FIELDWORK_SYNC_BASE_URL'], say)
  if (id === undefined) sayMissing(one, 'id', ['FIELDWORK_SYNC_API_ID'], say)
  const proxy = baseUrl === undefined ? null : proxyFor(baseUrl, one.proxies)
  if (baseUrl !== undefined && isPlain(baseUrl, proxy) && !file.settings.allow_insecure_http) {
    const inFile = overlay.baseUrl === undefined
    const where = inFile ? file.where(pathOf(one, 'base_url')) : overlay.label('FIELDWORK_SYNC_BASE_URL')
    const what = inFile ? `accounts[${one.index}].base_url would` : 'would'
    const advice = isPlainRemote(baseUrl)
      ? 'to another host; use https'
      : `to the proxy of ${proxy?.variable}; name the host in NO_PROXY`
    say(
      where,
      `${what} send the token over plain http ${advice}, or set allow_insecure_http: true in the settings file`,
    )
  }
  const token = resolveToken(one, say)
  if (baseUrl === undefined || id === undefined || token === undefined) return []
  const { name, share, rate_limit } = account
  const rate = overlay.rate ?? { requests: rate_limit.requests, perMs: rate_limit.per }
  return [{ name, baseUrl, id, token, rate, shared: resolveShared(one, rate.requests, say), proxy, share }]
}

/** Whether the token crosses a network in plain text, on its way to the API or to the proxy before it. */
const isPlain = (baseUrl: string, proxy: ProxySettings | null): boolean =>
  isPlainRemote(baseUrl) ||
  (proxy !== null && new URL(baseUrl).protocol === 'http:' && !isLoopback(proxy.address))

const resolveShared = (one: OneAccount, cap: number, say: Say): AccountSettings['shared'] => {
  const { shared: url, shared_unreachable } = one.account.rate_limit
  const share = shareOf(shared_unreachable, cap)
  const pathTo = (key: string) => ['accounts', one.index, 'rate_limit', key]
  const refuse = (problem: string) =>
    say(
      one.file.where(pathTo('shared_unreachable')),
      `accounts[${one.index}].rate_limit.shared_unreachable ${problem}`,
    )
  if (url === undefined) {
    // Whoever says what happens while it is away believes that there is one.
    if (share !== null && !one.file.isBroken(pathTo('shared')))
      refuse('is for a cap that is shared, and rate_limit.shared names no Redis; name it, or leave this out')
    return null
  }
  if (share !== null && share < 1) refuse(`is less than one request of the cap of ${cap}; give more, or stop`)
  if (share !== null && share > cap) refuse(`is more than the cap of ${cap} requests; give at most ${cap}`)
  return { url, share }
}

const resolveToken = (one: OneAccount, say: Say): Secret | undefined => {
  const { account, overlay, file, filePath, workingDirectory } = one
  if (TOKEN_VARIABLES.every((name) => overlay.given.includes(name))) {
    const [token, tokenFile] = TOKEN_VARIABLES.map(overlay.label)
    const advice = token === TOKEN_VARIABLES[0] ? 'unset one of them' : 'give one of them'
    say(tokenFile ?? '', `is set beside ${token}; ${advice}`)
    return undefined
  }
  if (account.token !== undefined && account.token_file !== undefined) {
    say(
      file.where(pathOf(one, 'token_file')),
      `accounts[${one.index}] has token and token_file; remove one of them`,
    )
    return undefined
  }
  if (overlay.token !== undefined) return overlay.token
  if (overlay.tokenFile !== undefined) {
    return tokenFrom(
      one,
      resolve(workingDirectory, overlay.tokenFile),
      overlay.label(TOKEN_VARIABLES[1]),
      say,
    )
  }
  if (TOKEN_VARIABLES.some((name) => overlay.given.includes(name))) return undefined
  if (account.token !== undefined) return account.token
  if (account.token_file !== undefined) {
    const path = resolve(filePath === null ? workingDirectory : dirname(filePath), account.token_file)
    return tokenFrom(one, path, file.where(pathOf(one, 'token_file')), say)
  }
  if (!file.isBroken(pathOf(one, 'token_file'))) sayMissing(one, 'token', TOKEN_VARIABLES, say)
  return undefined
}

const tokenFrom = (one: OneAccount, path: string, where: string, say: Say): Secret | undefined => {
  const text = readText(one.readFile, path)
  const token = text.ok ? readToken(text.value.replace(/[\r\n]+$/, '')) : text
  if (token.ok) return token.value
  // Who puts the token itself where its file belongs must not read it in a log: what cannot be read is not named.
  say(
    where,
    text.ok ? `the token file ${path} ${token.problem}` : `the token file that it names ${token.problem}`,
  )
  return undefined
}

const pathOf = (one: OneAccount, key: keyof FileAccount): Path => ['accounts', one.index, key]

/** Says that a value is nowhere, unless it is there and wrong, which was said already. */
const sayMissing = (
  one: OneAccount,
  key: 'base_url' | 'id' | 'token',
  variables: readonly AccountVariable[],
  say: Say,
): void => {
  const said =
    variables.some((name) => one.overlay.given.includes(name)) || one.file.isBroken(pathOf(one, key))
  if (said) return
  if (one.inFile) {
    const missing = key === 'token' ? 'token or token_file' : key
    say(one.file.where(['accounts', one.index]), `accounts[${one.index}] has no ${missing}; add it`)
  } else {
    const flags = one.only === undefined ? [] : variables.map((name) => ACCOUNT_FLAGS[name])
    say([...flags, ...variables].join(' or '), 'is not set; it is needed where no settings file has it')
  }
}
