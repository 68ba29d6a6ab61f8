/** The settings of a command, from file, environment and flags: plain, typed, immutable. Most of them come from the schema. */
import type { HttpProxy, Rate, SharedRate } from '../base/network.js'
import { type Secret, secretsInUrl } from '../base/secret.js'
import type { Monitoring } from '../model/monitoring.js'
import type { ExcludeRules, PlanFile, RefreshRules } from '../model/run.js'
import { secretsOfMonitoring } from './monitoring.js'
import type { SettingsValues } from './schema.js'
import type { StorageSettings } from './storage.js'

export interface AccountSettings {
  readonly name: string
  /** Ends with `/api/v1`, without a slash. */
  readonly baseUrl: string
  readonly id: number
  readonly token: Secret
  readonly rate: Rate
  /** The Redis through which other processes share the cap; null if the cap is not shared. */
  readonly shared: SharedRate | null
  /** The proxy for requests to the API; null for direct requests. */
  readonly proxy: HttpProxy | null
  readonly exclude: ExcludeRules
}

/** The settings that hold secrets. */
export type SettingsWithSecrets = Pick<Settings, 'accounts' | 'storage' | 'metrics' | 'notify'>

/** The secrets of the accounts, of the bucket and of the addresses of reports, which must never be visible. */
export const secretsOf = ({ accounts, storage, ...monitoring }: SettingsWithSecrets): readonly Secret[] => [
  ...accounts.flatMap(({ token, shared, proxy }) => [
    token,
    ...(shared === null ? [] : secretsInUrl(shared.url)),
    ...(proxy?.secrets ?? []),
  ]),
  ...(storage?.secrets ?? []),
  ...secretsOfMonitoring(monitoring),
]

export interface Settings
  extends Omit<
    SettingsValues,
    | 'accounts'
    | 'metrics'
    | 'notify'
    | 'storage'
    | 'warehouse'
    | 'config'
    | 'plan'
    | 'allow_insecure_http'
    | 'report'
    | 'refresh'
  > {
  readonly report: SettingsValues['report'] & Pick<SettingsValues, 'time_zone'>
  readonly refresh: RefreshRules
  /** At least one, unless the command needs no accounts, or no account belongs to the shard. */
  readonly accounts: readonly AccountSettings[]
  /**
   * The names of all accounts of the settings in this shard, also if `--accounts` leaves them out. For a command that needs no accounts,
   * the names in the settings file.
   */
  readonly accountNames: readonly string[]
  /** The targets of the metrics of a run; null without any. */
  readonly metrics: Monitoring['metrics']
  /** The targets of notifications about a run; null without any. */
  readonly notify: Monitoring['notify']
  /** The plan of these accounts; null without a file, and for commands other than `sync` and `check`. */
  readonly plan: PlanFile | null
  /** Absolute path; with `--shard`, the directory of the shard. */
  readonly warehouseDirectory: string
  /** The bucket that holds the warehouse; null if the directory holds it. */
  readonly storage: StorageSettings | null
  /** Absolute path of the settings file; null without one. */
  readonly settingsFile: string | null
  /** A note about a settings file that was found without a flag or variable; null without one. */
  readonly foundFile: string | null
  /** Warnings about settings that can be used all the same, one sentence each. */
  readonly warnings: readonly string[]
}
