/**
 * Loads the settings of a command. The environment overrides the file, and flags override both. All problems are reported
 * together, before anything is requested or written.
 */
import { resolve } from 'node:path'
import { createRedactor, Secret } from '../base/secret.js'
import { readTextFile } from '../base/text-file.js'
import { chooseAccounts, resolveAccounts } from './accounts.js'
import type { Environment } from './environment.js'
import { resolveMonitoring } from './monitoring.js'
import { type Flags, readGiven } from './names.js'
import { type Problem, quoted, SettingsError } from './problems.js'
import { readProxies } from './proxies.js'
import type { ReadFile } from './readers.js'
import { readPath } from './readers.js'
import { type Settings, type SettingsWithSecrets, secretsOf } from './settings.js'
import { absentSettingsFile, openSettingsFile } from './settings-file.js'
import { shardDirectory, shardOf } from './shards.js'
import { type Layers, layered, problemAt } from './source.js'
import { resolveStorage, storageAddress } from './storage.js'

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
    allow_insecure_http: __,
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
  const { backoff_base: baseMs, backoff_max: maxMs } = values.limits
  if (baseMs <= maxMs || isBroken(base) || isBroken(max)) return []
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
