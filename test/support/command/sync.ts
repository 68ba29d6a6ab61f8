/** Runs one `sync` of the real command and reads its JSON report. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SyncReport } from '../../../src/model/run.js'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { type Ended, type Env, MAIN, start } from './command.js'
import { runWarm } from './warm.js'

type SnakeCase<Name extends string> = string extends Name
  ? string
  : Name extends `${infer Head}${infer Rest}`
    ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Rest>}`
    : ''

/** The JSON form of a value in `--json`: names in snake_case, instants as text. */
type JsonOf<Value> = Value extends bigint
  ? string
  : Value extends readonly (infer Item)[]
    ? readonly JsonOf<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value & string as SnakeCase<Name>]: JsonOf<Value[Name]> }
      : Value

type SyncReportJson = JsonOf<SyncReport>

export interface Synced extends Ended {
  readonly report: SyncReportJson
  /** The first account's part of the report. */
  readonly run: SyncReportJson['accounts'][number]
}

export interface SyncOptions {
  readonly warehouse: string
  readonly env: Env
  readonly args?: readonly string[]
  readonly main?: string
}

const startSync = ({ warehouse, env, args = [], main = MAIN }: SyncOptions) =>
  start(['sync', '--json', ...args], { ...env, FIELDWORK_SYNC_WAREHOUSE: warehouse }, main)

/** Runs a sync in its own process and waits for its end, success or failure. Rejects when it printed no report. */
export const sync = async (options: SyncOptions): Promise<Synced> => syncedOf(await startSync(options).ended)

/** Like `sync`, in a process that has already loaded the command. */
export const syncWarm = async ({ warehouse, env, args = [] }: Omit<SyncOptions, 'main'>): Promise<Synced> =>
  syncedOf(await runWarm(['sync', '--json', ...args], { FIELDWORK_SYNC_WAREHOUSE: warehouse, ...env }))

const syncedOf = (ended: Ended): Synced => {
  const report: SyncReportJson = parseReport(ended)
  const [run] = report.accounts
  if (run === undefined) throw new Error(`a report without accounts: ${ended.stdout}`)
  return { ...ended, report, run }
}

const parseReport = (ended: Ended): SyncReportJson => {
  try {
    return JSON.parse(ended.stdout)
  } catch {
    throw new Error(`no report; code ${ended.code}, signal ${ended.signal}: ${ended.stderr}${ended.stdout}`)
  }
}

export const publishedFile = (warehouse: string): string => join(warehouse, 'fieldwork.duckdb')

/** The arguments that make a sync use these settings. JSON is valid YAML. */
export const withSettings = async (settings: object, finished?: Finished): Promise<readonly string[]> => {
  const file = join(await temporaryDirectory(finished), 'settings.yaml')
  await writeFile(file, JSON.stringify(settings))
  return ['--config', file]
}
