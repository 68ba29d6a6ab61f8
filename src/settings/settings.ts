/** What the command runs on, once file, environment and flags have been read: plain, typed, immutable. The schema makes most of it. */
import type { HttpProxy, Rate, SharedRate } from '../base/network.js'
import { type Secret, secretsInUrl } from '../base/secret.js'
import type { SettingsValues } from './schema.js'

export interface AccountSettings {
  readonly name: string
  /** Ends with `/api/v1`, no slash behind it. */
  readonly baseUrl: string
  readonly id: number
  readonly token: Secret
  readonly rate: Rate
  /** Where other processes spend of the same cap; null: nowhere. */
  readonly shared: SharedRate | null
  /** Through which its API is requested; null: directly. */
  readonly proxy: HttpProxy | null
  /** Its allocation of `--max-requests` is this over the sum of all accounts' weights. */
  readonly weight: number
}

/** Whatever of these accounts must never be seen. */
export const secretsOf = (accounts: readonly AccountSettings[]): readonly Secret[] =>
  accounts.flatMap(({ token, shared, proxy }) => [
    token,
    ...(shared === null ? [] : secretsInUrl(shared.url)),
    ...(proxy?.secrets ?? []),
  ])

export interface Settings extends Omit<SettingsValues, 'accounts' | RawValue> {
  /** At least one, unless the command said that it needs none, or no account belongs to the shard. */
  readonly accounts: readonly AccountSettings[]
  /** Absolute path; that of the shard where there are shards. */
  readonly warehouseDirectory: string
  /** Absolute path of the settings file that was read; null when there was none. */
  readonly settingsFile: string | null
}

/** What is not used as it was written. */
type RawValue = 'allowInsecureHttp' | 'config' | 'warehouse'
