/** Runs syncs of several accounts in this process. Each account has a scripted API of its own. */
import { join } from 'node:path'
import { type SyncAccounts, syncAccounts } from '../../../src/commands/sync.js'
import type { RunObserver, SyncReport } from '../../../src/model/run.js'
import type { GivenFlags } from '../../../src/settings/names.js'
import { type ScriptedApi, type ScriptedSurvey, startScriptedApi } from '../../support/api/scripted-api.js'
import type { Finished } from '../../support/files/temporary.js'
import { load } from '../../support/settings/settings-from-yaml.js'
import { query, type Row } from '../../support/warehouse/duckdb.js'
import { newDirectory } from '../../support/warehouse/warehouse.js'

/** An observer that does nothing. */
export const SILENT: RunObserver = {
  listed: () => undefined,
  refreshed: () => undefined,
  ended: () => undefined,
  publishing: () => undefined,
}

export interface Line {
  readonly level: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

export interface AccountsTrial {
  readonly warehouse: string
  readonly api: (account: string) => ScriptedApi
  /** The log lines so far. */
  readonly lines: readonly Line[]
  sync(options?: {
    readonly flags?: GivenFlags
    /** They replace settings of the trial. */
    readonly settings?: object
    /** Settings of single accounts. */
    readonly accounts?: Readonly<Record<string, object>>
    readonly given?: Partial<SyncAccounts>
  }): Promise<SyncReport>
  query(sql: string, file?: 'fieldwork.duckdb' | 'work.duckdb'): Promise<Row[]>
}

export const openAccounts = async (
  { onTestFinished }: { readonly onTestFinished: Finished },
  surveys: Readonly<Record<string, ScriptedSurvey[]>>,
): Promise<AccountsTrial> => {
  const warehouse = await newDirectory(onTestFinished)
  const apis = new Map<string, ScriptedApi>()
  for (const [account, own] of Object.entries(surveys))
    apis.set(account, await startScriptedApi(own, onTestFinished))
  const lines: Line[] = []
  const at = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push({ level, fields, message })
  const api = (account: string) => {
    const found = apis.get(account)
    if (found === undefined) throw new Error(`no API of ${account}`)
    return found
  }
  return {
    warehouse,
    api,
    lines,
    sync: async ({ flags = {}, settings = {}, accounts = {}, given = {} } = {}) => {
      const yaml = JSON.stringify({
        accounts: [...apis].map(([name, { baseUrl }], index) => ({
          name,
          base_url: baseUrl,
          id: index + 1,
          token: `tok-of-account-${name}`,
          rate_limit: { requests: 1000, per: '1s' },
          ...accounts[name],
        })),
        ...settings,
      })
      return syncAccounts({
        settings: await load({ yaml, flags: { warehouse, ...flags } }),
        log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
        observer: SILENT,
        signal: new AbortController().signal,
        onSource: () => undefined,
        ...given,
      })
    },
    query: (sql, file = 'fieldwork.duckdb') => query(join(warehouse, file), sql),
  }
}
