/**
 * One trial of the real command: a scripted API, a warehouse directory, and command lines that use both.
 * A process that still runs at the end of the test is killed.
 */
import { join } from 'node:path'
import { expect } from 'vitest'
import { type Hook, type ScriptedApi, type ScriptedSurvey, startScriptedApi } from '../api/scripted-api.js'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { unsoundness } from '../oracle/soundness.js'
import { query, type Row } from '../warehouse/duckdb.js'
import { type Ended, type Env, MAIN, type Running, start } from './command.js'
import { publishedFile, type Synced, syncWarm, withSettings } from './sync.js'
import { runWarm } from './warm.js'

export interface Trial {
  readonly api: ScriptedApi
  readonly warehouse: string
  /** The file that readers open. */
  readonly published: string
  /** Starts a command line with the API and the warehouse in its environment. `undefined` removes a variable. */
  start(args: readonly string[], env?: Env, main?: string): Running
  run(args: readonly string[], env?: Env, main?: string): Promise<Ended>
  /** Like `run`, in a process that has already loaded the command. */
  runWarm(args: readonly string[], env?: Env): Promise<Ended>
  /** `sync --json` and its report, like `runWarm`. */
  sync(args?: readonly string[], env?: Env): Promise<Synced>
  settings(settings: object): Promise<readonly string[]>
  /** Rows of the published file. */
  rows(sql: string): Promise<Row[]>
  /** The published file is sound. */
  expectSound(): Promise<void>
  /** The run records, oldest first, from the published file or the work database. */
  runs(file?: 'fieldwork.duckdb' | 'work.duckdb'): Promise<Row[]>
  /** An empty directory beside the warehouse. */
  temporary(): Promise<string>
}

interface TrialOptions {
  readonly directory?: string
  /** Whether runs read days before the first reading, which takes ten requests a survey; false by default, also in `settings`. */
  readonly reconstruct?: boolean
}

export const openTrial = async (
  { onTestFinished }: { readonly onTestFinished: Finished },
  surveys: ScriptedSurvey[] = [],
  { directory, reconstruct = false }: TrialOptions = {},
): Promise<Trial> => {
  const api = await startScriptedApi(surveys, onTestFinished)
  const temporary = () => temporaryDirectory(onTestFinished)
  const warehouse = directory ?? join(await temporary(), 'warehouse')
  const settings = (more: { readonly refresh?: object }) =>
    withSettings(reconstruct ? more : { ...more, refresh: { reconstruct, ...more.refresh } }, onTestFinished)
  const [, config] = reconstruct ? [] : await settings({})
  const trialEnv = (env: Env): Env => ({
    ...{ ...api.env, FIELDWORK_SYNC_WAREHOUSE: warehouse, FIELDWORK_SYNC_CONFIG: config },
    ...env,
  })
  const startOne = (args: readonly string[], env: Env = {}, main = MAIN): Running => {
    const running = start(args, trialEnv(env), main)
    onTestFinished(async () => {
      running.child.kill('SIGKILL')
      await running.ended
    })
    return running
  }
  return {
    api,
    warehouse,
    published: publishedFile(warehouse),
    start: startOne,
    run: (args, env, main) => startOne(args, env, main).ended,
    runWarm: (args, env = {}) => runWarm(args, trialEnv(env)),
    sync: (args = [], env = {}) => syncWarm({ warehouse, env: trialEnv(env), args }),
    settings,
    rows: (sql) => query(publishedFile(warehouse), sql),
    expectSound: async () => expect(await unsoundness(publishedFile(warehouse))).toEqual([]),
    runs: (file = 'fieldwork.duckdb') =>
      query(join(warehouse, file), 'SELECT status, exit_code, reason FROM _sync.runs ORDER BY started_at'),
    temporary,
  }
}

/** A trial after its first complete sync. */
export const openSynced = async (...parameters: Parameters<typeof openTrial>): Promise<Trial> => {
  const trial = await openTrial(...parameters)
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  return trial
}

/**
 * Runs `sync --json` on the night `days` after the first, with the answers of `hook`. Returns the first account's part of the report.
 */
export const night = async (
  trial: Trial,
  days: number,
  hook: Hook = () => false,
  args: readonly string[] = [],
  env: Env = {},
) => {
  trial.api.now = new Date(Date.UTC(2026, 2, 1 + days))
  trial.api.arrivals.length = 0
  trial.api.hook = hook
  const ended = await trial.runWarm(['sync', '--json', ...args], env)
  const report = JSON.parse(ended.stdout)
  return { code: ended.code, stderr: ended.stderr, run: report.accounts?.[0] ?? report }
}

export type StderrPattern = RegExp | ((stderr: string) => boolean)

/** Matches when the debug log shows that many finished requests. */
export const answered =
  (requests: number): StderrPattern =>
  (stderr) =>
    stderr.split('"msg":"request"').length > requests

/** Resolves when the pattern appears on the process's stderr. Rejects when the process ends without it. */
export const stderrShows = (running: Running, pattern: StderrPattern): Promise<void> =>
  new Promise((resolve, reject) => {
    const matches = (stderr: string) => (pattern instanceof RegExp ? pattern.test(stderr) : pattern(stderr))
    const look = () => {
      if (matches(running.stderr())) resolve()
    }
    running.child.stderr?.on('data', look)
    look()
    running.ended.then(({ stderr }) => {
      if (!matches(stderr)) reject(new Error(`the process ended without ${pattern}: ${stderr}`))
    }, reject)
  })

export const stopWith = async (running: Running, signal: NodeJS.Signals): Promise<Ended> => {
  running.child.kill(signal)
  return await running.ended
}

export const lastLine = ({ stdout }: Pick<Ended, 'stdout'>): string =>
  stdout.trimEnd().split('\n').at(-1) ?? ''

export interface Gate<Value> {
  readonly opened: Promise<Value>
  open(value: Value): void
}

export const gate = <Value>(): Gate<Value> => {
  let open: (value: Value) => void = () => undefined
  const opened = new Promise<Value>((resolve) => {
    open = resolve
  })
  return { opened, open: (value) => open(value) }
}
