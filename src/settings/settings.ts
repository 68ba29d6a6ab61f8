/** What the command runs on, once file, environment and flags have been read: plain, typed, frozen. */
import { type Secret, secretsInUrl } from '../base/secret.js'
import type { Budget, DiscoverRules, HistoryRules, RefreshRules } from '../model/run.js'
import type { Rate } from './duration.js'
import type { ProxySettings } from './proxies.js'
import type { Shard } from './shards.js'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

export const PUBLISH_FORMATS = ['duckdb', 'parquet'] as const
export type PublishFormat = (typeof PUBLISH_FORMATS)[number]

export const CONTRACTS = ['evolve', 'freeze'] as const
/** Whether drift of the API's answers is only reported (evolve) or ends in exit 5 (freeze). */
type Contract = (typeof CONTRACTS)[number]

export interface AccountSettings {
  readonly name: string
  /** Ends with `/api/v1`, no slash behind it. */
  readonly baseUrl: string
  readonly id: number
  readonly token: Secret
  readonly rate: Rate
  /** Where other processes spend of the same cap; null: nowhere. */
  readonly shared: SharedRateSettings | null
  /** Through which its API is requested; null: directly. */
  readonly proxy: ProxySettings | null
  /** Its part of `--max-requests` is this over the sum of all accounts' shares. */
  readonly share: number
}

interface SharedRateSettings {
  /** `redis://` or `rediss://`; may hold a password. */
  readonly url: Secret
  /** Requests of this process in a window while it is away; null: the run ends. */
  readonly share: number | null
}

/** Whatever of these accounts must never be seen. */
export const secretsOf = (accounts: readonly AccountSettings[]): readonly Secret[] =>
  accounts.flatMap(({ token, shared, proxy }) => [
    token,
    ...(shared === null ? [] : secretsInUrl(shared.url)),
    ...(proxy?.secrets ?? []),
  ])

interface Limits {
  readonly requestTimeoutMs: number
  readonly attemptsMax: number
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
  readonly responseBytesMax: number
  readonly rejectedRowsMax: number
  readonly consecutiveFailuresMax: number
}

export interface Settings {
  /** At least one, unless the command said that it needs none, or no account belongs to the shard. */
  readonly accounts: readonly AccountSettings[]
  /** Absolute path; that of the shard where there are shards. */
  readonly warehouseDirectory: string
  /** `--shard`; null where the accounts are not divided among jobs. */
  readonly shard: Shard | null
  readonly publish: readonly PublishFormat[]
  readonly contract: Contract
  readonly discover: DiscoverRules
  readonly refresh: RefreshRules
  readonly history: HistoryRules
  readonly limits: Limits
  readonly logLevel: LogLevel
  readonly budget: Budget
  /** `--full`: list all surveys, whatever the cursor says. */
  readonly full: boolean
  /** `--json`: stdout is one JSON document. */
  readonly json: boolean
  /** Absolute path of the settings file that was read; null when there was none. */
  readonly settingsFile: string | null
}
