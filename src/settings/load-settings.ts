/**
 * The settings of a command, from file, environment and flags; later wins. Whatever is wrong in any of them is
 * reported together, before anything is requested or written.
 */
import { resolve } from 'node:path'
import { createRedactor, Secret } from '../base/secret.js'
import { resolveAccounts } from './accounts.js'
import { readEnvironment } from './environment.js'
import { accountFlagsOf, type Flags, readFlags } from './flags.js'
import type { Environment } from './interpolate.js'
import { type Outcome, type Problem, SettingsError } from './problems.js'
import { NO_PROXIES, readProxies } from './proxies.js'
import { type Settings, secretsOf } from './settings.js'
import { absentSettingsFile, readSettingsFile, type SettingsFile } from './settings-file.js'
import { type ReadFile, readFileAsText, readText } from './text-file.js'
import { type WarehousePlace, warehouseDirectoryOf } from './warehouse-directory.js'

export interface SettingsRequest {
  readonly env: Environment
  readonly flags: Flags
  /** False for commands that need the warehouse only: accounts and their tokens are not even looked at. */
  readonly requireAccounts?: boolean
  /** True for commands that work on one account: they have its flags, and `--account` for one of several. */
  readonly oneAccount?: boolean
  readonly readFile?: ReadFile
  /** What relative paths of flags and environment start from; the process's own unless said. */
  readonly workingDirectory?: string
}

/** Throws a `SettingsError` that names every problem. */
export const loadSettings = (request: SettingsRequest): Settings => {
  const { env, requireAccounts: withAccounts = true, readFile = readFileAsText } = request
  const workingDirectory = request.workingDirectory ?? process.cwd()
  const environment = readEnvironment(env, withAccounts, accountFlagsOf(request.flags))
  const proxies = withAccounts ? readProxies(env) : { values: NO_PROXIES, problems: [] }
  const flags = readFlags(request.flags)
  const name = flags.values.config ?? environment.values.config
  const settingsFile = name === undefined ? null : resolve(workingDirectory, name)
  const file =
    name === undefined || settingsFile === null
      ? { values: absentSettingsFile(), problems: [] }
      : openSettingsFile({ name, path: settingsFile, env, withAccounts, readFile })
  const accounts = withAccounts
    ? resolveAccounts({
        file: file.values,
        filePath: settingsFile,
        environment: environment.values,
        proxies: proxies.values,
        readFile,
        workingDirectory,
        only: request.oneAccount === true ? { name: request.flags.account } : undefined,
        names: request.flags.accounts,
        shard: flags.values.shard,
      })
    : { values: [], problems: [] }
  const { settings } = file.values
  const shard = flags.values.shard ?? null
  const warehouse = warehouseDirectoryOf({
    ...chosenPlace(flags.values.warehouse, environment.values.warehouse, file.values),
    workingDirectory,
    shard,
  })
  const problems = [
    ...file.problems,
    ...environment.problems,
    ...proxies.problems,
    ...flags.problems,
    ...accounts.problems,
    // Commands that work on one account have no warehouse.
    ...(request.oneAccount === true ? [] : warehouse.problems),
    ...backoffOrder(file.values),
  ]
  if (problems.length > 0) {
    const texts = [env.FIELDWORK_SYNC_API_TOKEN, request.flags.token]
    throw new SettingsError(withoutSecrets(problems, texts, accounts.values))
  }
  return deepFrozen({
    accounts: accounts.values,
    warehouseDirectory: warehouse.values,
    shard,
    publish: flags.values.publish ?? settings.publish,
    contract: settings.contract,
    ...rulesOf(settings),
    logLevel: flags.values.logLevel ?? environment.values.logLevel ?? 'info',
    budget: {
      requestsMax: flags.values.maxRequests ?? null,
      durationMsMax: flags.values.maxDurationMs ?? null,
    },
    full: request.flags.full ?? false,
    json: request.flags.json ?? false,
    settingsFile,
  })
}

const chosenPlace = (
  flag: string | undefined,
  variable: string | undefined,
  file: SettingsFile,
): Pick<WarehousePlace, 'path' | 'where'> => {
  if (flag !== undefined) return { path: flag, where: '--warehouse' }
  return variable !== undefined
    ? { path: variable, where: 'FIELDWORK_SYNC_WAREHOUSE' }
    : { path: file.settings.warehouse.directory, where: file.where(['warehouse', 'directory']) }
}

interface OpenRequest {
  readonly name: string
  readonly path: string
  readonly env: Environment
  readonly withAccounts: boolean
  readonly readFile: ReadFile
}

const openSettingsFile = ({
  name,
  path,
  env,
  withAccounts,
  readFile,
}: OpenRequest): Outcome<SettingsFile> => {
  const text = readText(readFile, path)
  if (text.ok) return readSettingsFile({ text: text.value, name, env, withAccounts })
  const problem = `the settings file ${text.problem}; see --config and FIELDWORK_SYNC_CONFIG`
  return {
    values: { ...absentSettingsFile(), isBroken: () => true },
    problems: [{ where: name, text: problem }],
  }
}

const rulesOf = ({
  discover,
  refresh,
  history,
  limits,
}: SettingsFile['settings']): Pick<Settings, 'discover' | 'refresh' | 'history' | 'limits'> => ({
  discover: { overlapMs: discover.overlap, fullListingEveryMs: discover.full_listing_every },
  refresh: {
    settleForMs: refresh.settle_for,
    maxAgeMs: refresh.max_age,
    weights: refresh.weights,
    listSourcesEveryMs: refresh.list_sources_every,
    skipUnchanged: refresh.skip_unchanged,
    recheckUnchangedAfterMs: refresh.recheck_unchanged_after,
    dailyWindows:
      refresh.daily_windows === undefined
        ? null
        : {
            days: refresh.daily_windows.days,
            timeZone: refresh.daily_windows.time_zone,
            sources: refresh.daily_windows.sources,
          },
  },
  history: { progressKeepAllForMs: history.progress_keep_all_for },
  limits: {
    requestTimeoutMs: limits.request_timeout,
    attemptsMax: limits.attempts,
    backoffBaseMs: limits.backoff_base,
    backoffMaxMs: limits.backoff_max,
    responseBytesMax: limits.response_bytes_max,
    rejectedRowsMax: limits.rejected_rows_max,
    consecutiveFailuresMax: limits.consecutive_failures_max,
  },
})

const backoffOrder = (file: SettingsFile): readonly Problem[] => {
  const { backoff_base: base, backoff_max: max } = file.settings.limits
  const [basePath, maxPath] = [
    ['limits', 'backoff_base'],
    ['limits', 'backoff_max'],
  ]
  if (base <= max || file.isBroken(basePath) || file.isBroken(maxPath)) return []
  return [
    { where: file.where(maxPath), text: 'limits.backoff_max must not be less than limits.backoff_base' },
  ]
}

/** Shorter ones are no tokens, and taking them out would leave holes in the sentences. */
const REDACTED_LENGTH_MIN = 8

/** No reader quotes a credential; this is for one that stands where no credential belongs. */
const withoutSecrets = (
  problems: readonly Problem[],
  tokens: readonly (string | undefined)[],
  accounts: Settings['accounts'],
): readonly Problem[] => {
  const secrets = [...tokens.map((token) => new Secret(token ?? '')), ...secretsOf(accounts)]
  const redact = createRedactor(secrets.filter((secret) => secret.reveal().length >= REDACTED_LENGTH_MIN))
  return problems.map(({ where, text }) => ({ where: redact(where), text: redact(text) }))
}

const deepFrozen = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFrozen(part)
  }
  return value
}
