/**
 * Loads the settings of a command. The environment overrides the file, and flags override both. All problems are reported
 * together, before anything is requested or written.
 */
import { lstat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { hasCode, messageOf } from '../base/errors.js'
import { quoted } from '../base/human.js'
import { createRedactor, Secret, withoutWords } from '../base/secret.js'
import { unlessAborted } from '../base/signals.js'
import { readTextFile } from '../base/text-file.js'
import type { PlanFile } from '../model/run.js'
import { chooseAccounts, resolveAccounts } from './accounts.js'
import type { Environment } from './environment.js'
import { resolveMonitoring } from './monitoring.js'
import { type GivenFlags, type Override, readOverrides, SETTINGS_FILE_HERE } from './names.js'
import { type Problem, SettingsError } from './problems.js'
import { readProxies } from './proxies.js'
import { filePath, type ReadFile, readAs } from './readers.js'
import type { SettingsValues } from './schema.js'
import { type Settings, type SettingsWithSecrets, secretsOf } from './settings.js'
import { isInShard, shardDirectory } from './shards.js'
import { ABSENT_FILE, type Layers, layered, type SettingsFile } from './source.js'
import { resolveStorage, storageAddress } from './storage.js'
import { readTrusted } from './trusted-file.js'
import { unknownVariables } from './unknown-variables.js'

export interface SettingsRequest {
  readonly env: Environment
  readonly flags: GivenFlags
  /** False for commands that need only the warehouse: accounts and their tokens are not read. */
  readonly requireAccounts?: boolean
  /** True for commands whose runs are reported, and `check`. Other commands do not read the addresses of reports. */
  readonly withReports?: boolean
  /** True for commands that work on one account. They have the flags of an account, and `--account` to choose one. */
  readonly oneAccount?: boolean
  /** True for commands that read `./fieldwork-sync.yaml` if neither flag nor variable names a file. */
  readonly mayFindFile?: boolean
  /** Ends the reading of files that do not answer. */
  readonly signal: AbortSignal
  /** Default: `readTextFile`. */
  readonly readFile?: ReadFile
}

/** Throws a `SettingsError` that names every problem. */
export const loadSettings = async (request: SettingsRequest): Promise<Settings> => {
  const { env, flags, signal, requireAccounts = true, oneAccount = false, withReports = false } = request
  const { readFile = (path: string) => readTextFile(path, signal) } = request
  const unused = [...(requireAccounts ? [] : ['accounts']), ...(withReports ? [] : ['metrics', 'notify'])]
  const overrides = readOverrides(env, flags).filter(({ ofAccount }) => requireAccounts || !ofAccount)

  const {
    file,
    settingsFile,
    foundFile,
    warnings: ofFile,
  } = await openFile(request, overrides, unused, readFile)

  const choice = requireAccounts ? chooseAccounts(flags, overrides, oneAccount, file.accountNames) : NO_CHOICE
  const layers = layered(file, overrides, choice.accountIndex)
  const { allow_insecure_http: _allowInsecureHttp, config: _config, plan: _plan, ...rest } = layers.values
  const { warehouse, ...values } = rest
  const { shard } = values
  const { problems } = layers
  const { problems: ofProxies, ...proxies } = readProxies(requireAccounts || withReports ? env : {})
  const variables = unknownVariables(env, file.variables)
  problems.push(...variables.problems, ...ofProxies, ...choice.problems)
  const { chosen } = choice
  const accounts = await resolveAccounts({ layers, file, chosen, oneAccount, proxies, readFile })
  // Commands that work on one account have no warehouse.
  const storage = oneAccount ? null : resolveStorage(layers, env)
  const { metrics, notify } = await resolveMonitoring({ layers, proxies, readFile })
  const plan = requireAccounts && withReports ? await resolvePlan(layers, readFile) : null
  const shardPath = shard === null ? [] : [shardDirectory(shard)]
  const warehouseDirectory = resolve(warehouse.directory, ...shardPath)
  if (!oneAccount) refuseWarehouse(layers, warehouseDirectory)
  refuseBackoff(layers)
  const warnings = [...ofFile, ...variables.warnings]
  if (problems.length > 0) {
    // A warning may be the reason of a problem.
    problems.push(...warnings)
    const texts = [env.FIELDWORK_SYNC_API_TOKEN ?? '', String(flags.token ?? '')]
    const safe = withoutSecrets(problems, texts, { accounts, storage, metrics, notify })
    const warehouseName = storage === null ? warehouseDirectory : storageAddress(storage)
    const reported = isWarehouseKnown(layers)
      ? { metrics, notify }
      : { metrics: null, notify: notify && { ...notify, openlineage: null } }
    throw new SettingsError(safe, { warehouse: warehouseName, ...reported })
  }
  const names = requireAccounts ? values.accounts.map(({ name }) => name) : file.accountNames
  const accountNames = names.filter((name) => isInShard(name, shard))
  return immutable({
    ...values,
    ...inTimeZone(values),
    accounts,
    accountNames,
    plan,
    warehouseDirectory,
    storage,
    metrics,
    notify,
    settingsFile,
    foundFile,
    warnings: warnings.map(({ where, text }) => `${where}: ${text}`),
  })
}

/** The settings of which a part counts days or shows times. */
export const inTimeZone = ({
  time_zone,
  report,
  refresh,
}: Pick<SettingsValues, 'time_zone' | 'report' | 'refresh'>): Pick<Settings, 'report' | 'refresh'> => {
  const windows = refresh.daily_windows
  return {
    report: { ...report, time_zone },
    refresh: { ...refresh, daily_windows: windows === null ? null : { ...windows, time_zone } },
  }
}

/** Opens the file that flag or variable names, or else the file in the working directory. */
const openFile = async (
  { env, signal, mayFindFile = false }: SettingsRequest,
  overrides: readonly Override[],
  unused: readonly string[],
  readFile: ReadFile,
) => {
  const named = overrides.findLast(({ path }) => path[0] === 'config')?.value
  const { path, warnings } = named === undefined && mayFindFile ? await fileHere(signal) : NO_FILE_HERE
  const config = readAs(filePath, named ?? path)
  const trusted = path === null ? null : await unlessAborted(signal, readTrusted(path))
  const open = async (name: string): Promise<SettingsFile> =>
    // Loads the YAML parser, which takes 20 ms of CPU.
    (await import('./settings-file.js')).openSettingsFile({ env, unused, readFile, name, trusted })
  return {
    file: config.ok ? await open(config.value) : ABSENT_FILE,
    settingsFile: config.ok ? resolve(config.value) : null,
    foundFile: path === null ? null : `settings from ${path}`,
    warnings,
  }
}

/**
 * The settings file in the working directory. A file that exists but cannot be read is a problem. A directory that we may not enter counts
 * as one without the file.
 */
const fileHere = (signal: AbortSignal): Promise<FileHere> => {
  const looked = lstat(SETTINGS_FILE_HERE).then(
    (): FileHere => ({ ...NO_FILE_HERE, path: `./${SETTINGS_FILE_HERE}` }),
    (error: unknown) =>
      hasCode(error, 'ENOENT')
        ? NO_FILE_HERE
        : {
            ...NO_FILE_HERE,
            warnings: [
              {
                where: `./${SETTINGS_FILE_HERE}`,
                text: `this user cannot see whether it is there: ${messageOf(error)}. Name a settings file by --config, or start in another directory`,
              },
            ],
          },
  )
  return unlessAborted(signal, looked)
}

interface FileHere {
  readonly path: string | null
  readonly warnings: readonly Problem[]
}
const NO_FILE_HERE: FileHere = { path: null, warnings: [] }

/** The plan of the accounts of this shard. */
const resolvePlan = async (layers: Layers, readFile: ReadFile): Promise<PlanFile | null> => {
  const { plan: name, accounts, shard } = layers.values
  if (name === undefined) return null
  const path = resolve(layers.originOf(['plan']).directory, name)
  const { readPlan } = await import('./plan.js')
  const names = accounts.map((account) => account.name)
  const read = await readPlan(path, names, readFile)
  if (!read.ok) {
    layers.refuse(['plan'], `names the file ${path}, which ${read.problem}`)
    return null
  }
  const rows = read.value.rows?.filter(({ account }) => isInShard(account, shard)) ?? null
  return { ...read.value, rows }
}

const NO_CHOICE = { chosen: new Set<number>(), accountIndex: null, problems: [] } as const

/**
 * Whether the name of the warehouse is right. Metrics under a wrong name would stay, because a later run with right settings does not
 * replace them.
 */
const isWarehouseKnown = ({ isBroken }: Layers): boolean =>
  ![['storage', 'url'], ['warehouse', 'directory'], ['shard']].some(isBroken)

/** The warehouse must be on this machine, at a path that DuckDB can open. */
const refuseWarehouse = ({ values, refuse }: Layers, directory: string): void => {
  const path = values.warehouse.directory
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    refuse(
      ['warehouse', 'directory'],
      `must be a directory of this machine, not an address such as ${quoted(path)}. For a bucket, set storage.url`,
    )
  // DuckDB reads a "?" as the beginning of options, and would put its write-ahead log into another directory.
  else if (directory.includes('?'))
    refuse(
      ['warehouse', 'directory'],
      `must not have a "?" in its path, which is ${quoted(directory)}: DuckDB cannot open a file there. Give another directory`,
    )
}

const refuseBackoff = ({ values: { limits }, refuse, isBroken }: Layers): void => {
  if (limits.backoff_base <= limits.backoff_max) return
  if (!isBroken(['limits', 'backoff_base']) && !isBroken(['limits', 'backoff_max']))
    refuse(['limits', 'backoff_max'], 'must not be less than limits.backoff_base')
}

/**
 * Redacts credentials in problems: no reader quotes the value of a credential, but somebody may have put a credential into another setting.
 */
const withoutSecrets = (
  problems: readonly Problem[],
  tokens: readonly string[],
  settings: SettingsWithSecrets,
): readonly Problem[] => {
  const secrets = [...tokens.map((token) => new Secret(token)), ...secretsOf(settings)]
  const redact = createRedactor(withoutWords(secrets))
  return problems.map(({ where, text }) => ({ where: redact(where), text: redact(text) }))
}

const immutable = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) immutable(part)
  }
  return value
}
