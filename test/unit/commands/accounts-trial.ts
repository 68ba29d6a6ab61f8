/** Runs syncs of several accounts in this process. Each account has a scripted API of its own. */
import { join } from 'node:path'
import { newRunId } from '../../../src/commands/context.js'
import { type SyncAccounts, syncAccounts } from '../../../src/commands/sync.js'
import type { SyncReport } from '../../../src/model/run.js'
import type { GivenFlags } from '../../../src/settings/names.js'
import { type ScriptedApi, type ScriptedSurvey, startScriptedApi } from '../../support/api/scripted-api.js'
import type { Finished } from '../../support/files/temporary.js'
import { type LogLine, testLog, UNOBSERVED } from '../../support/log/test-log.js'
import { load } from '../../support/settings/settings-from-yaml.js'
import { query, type Row } from '../../support/warehouse/duckdb.js'
import { newDirectory } from '../../support/warehouse/warehouse.js'

export interface AccountsTrial {
  readonly warehouse: string
  readonly api: (account: string) => ScriptedApi
  /** The log lines so far. */
  readonly lines: readonly LogLine[]
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
  const log = testLog()
  const api = (account: string) => {
    const found = apis.get(account)
    if (found === undefined) throw new Error(`no API of ${account}`)
    return found
  }
  return {
    warehouse,
    api,
    lines: log.lines,
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
        runId: newRunId(Date.now()),
        log,
        observer: UNOBSERVED,
        signal: new AbortController().signal,
        onSource: () => undefined,
        ...given,
      })
    },
    query: (sql, file = 'fieldwork.duckdb') => query(join(warehouse, file), sql),
  }
}
