/**
 * One trial of the real command: a scripted API, a warehouse directory of its own, and command lines that know of
 * both. Whatever still runs when the test is over is killed.
 */
import { existsSync } from 'node:fs'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ScriptedApi, type ScriptedSurvey, startScriptedApi } from '../api/scripted-api.js'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { query, type Row } from '../warehouse/duckdb.js'
import { type Ended, type Env, MAIN, type Running, start } from './command.js'
import { runWarm } from './warm.js'

export interface Trial {
  readonly api: ScriptedApi
  readonly warehouse: string
  /** What readers open. */
  readonly published: string
  /** Starts a command line with the API and the warehouse in its environment; `undefined` takes a variable out. */
  start(args: readonly string[], env?: Env, main?: string): Running
  run(args: readonly string[], env?: Env, main?: string): Promise<Ended>
  /** The same, where it does not matter that a process begins with it. */
  runWarm(args: readonly string[], env?: Env): Promise<Ended>
  /** The arguments that make a command use these settings; JSON is YAML as well. */
  settings(settings: object): Promise<readonly string[]>
  /** What is recorded of the runs, the oldest first: in the published file, or in the work database. */
  runs(file?: 'fieldwork.duckdb' | 'work.duckdb'): Promise<Row[]>
  /** An empty directory beside the warehouse. */
  temporary(): Promise<string>
}

export const openTrial = async (
  { onTestFinished }: { readonly onTestFinished: Finished },
  surveys: ScriptedSurvey[] = [],
  inDirectory?: string,
): Promise<Trial> => {
  const api = await startScriptedApi(surveys, onTestFinished)
  const temporary = () => temporaryDirectory(onTestFinished)
  const warehouse = inDirectory ?? join(await temporary(), 'warehouse')
  const ofTrial = (env: Env): Env => ({ ...api.env, FIELDWORK_SYNC_WAREHOUSE: warehouse, ...env })
  const startOne = (args: readonly string[], env: Env = {}, main = MAIN): Running => {
    const running = start(args, ofTrial(env), main)
    onTestFinished(async () => {
      running.child.kill('SIGKILL')
      await running.ended
    })
    return running
  }
  return {
    api,
    warehouse,
    published: join(warehouse, 'fieldwork.duckdb'),
    start: startOne,
    run: (args, env, main) => startOne(args, env, main).ended,
    runWarm: (args, env = {}) => runWarm(args, ofTrial(env)),
    settings: async (settings) => {
      const file = join(await temporary(), 'settings.yaml')
      await writeFile(file, JSON.stringify(settings))
      return ['--config', file]
    },
    runs: (file = 'fieldwork.duckdb') =>
      query(join(warehouse, file), 'SELECT status, exit_code, reason FROM _sync.runs ORDER BY started_at'),
    temporary,
  }
}

/** What a test waits for on stderr. */
export type Sight = RegExp | ((stderr: string) => boolean)

/** The log of a run at debug level tells the end of so many requests. */
export const answered =
  (requests: number): Sight =>
  (stderr) =>
    stderr.split('"msg":"request"').length > requests

/** Resolves as soon as that is to be seen on the process's stderr; rejects when it ends without. */
export const said = (running: Running, sight: Sight): Promise<void> =>
  new Promise((resolve, reject) => {
    const isThere = (stderr: string) => (sight instanceof RegExp ? sight.test(stderr) : sight(stderr))
    const look = () => {
      if (isThere(running.stderr())) resolve()
    }
    running.child.stderr?.on('data', look)
    look()
    running.ended.then(({ stderr }) => {
      if (!isThere(stderr)) reject(new Error(`it ended without ${sight}: ${stderr}`))
    }, reject)
  })

/** Sends a signal, and tells how the process ended and how long that took. */
export const stopWith = async (
  running: Running,
  signal: NodeJS.Signals,
): Promise<Ended & { readonly tookMs: number }> => {
  const startedMs = performance.now()
  running.child.kill(signal)
  const ended = await running.ended
  return { ...ended, tookMs: performance.now() - startedMs }
}

export const lastLine = ({ stdout }: Pick<Ended, 'stdout'>): string =>
  stdout.trimEnd().split('\n').at(-1) ?? ''

/** A copy of the built command in which one module is replaced; returns its entry. */
export const otherBuild = async (trial: Trial, module: string, source: string): Promise<string> => {
  const root = await trial.temporary()
  const project = join(MAIN, '..', '..')
  await mkdir(join(root, 'dist'))
  await cp(join(project, 'dist'), join(root, 'dist'), { recursive: true })
  await cp(join(project, 'package.json'), join(root, 'package.json'))
  await symlink(join(project, 'node_modules'), join(root, 'node_modules'))
  const file = join(root, 'dist', module)
  if (!existsSync(file)) throw new Error(`there is no module ${module} to replace`)
  await writeFile(file, source)
  return join(root, 'dist', 'main.js')
}

export interface Gate<Value> {
  readonly opened: Promise<Value>
  open(value: Value): void
}

/** A promise that the test settles. */
export const gate = <Value>(): Gate<Value> => {
  let open: (value: Value) => void = () => undefined
  const opened = new Promise<Value>((resolve) => {
    open = resolve
  })
  return { opened, open: (value) => open(value) }
}
