/**
 * Runs command lines in a process that has already loaded the command. Loading takes most of the CPU of a small sync
 * (0.8 s of 1.15 s), so `npm test` loads the same build once, in a child process (`warm.mjs`), for many command lines.
 * Tests of processes use `start`: signals, kills, start and exit. `npm run test:slow` starts a process per command line.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { SLOW } from '../suite/slow.js'
import { putEmptyWarehouse } from '../warehouse/warehouse.js'
import { type Ended, type Env, run } from './command.js'

/** A test may run a command line while another one waits for the API. */
const LOADED_MAX = 2
/** A second process is loaded if a command line takes so long while another one waits, because loading takes as much CPU as three syncs. */
const PATIENCE_MS = 3_000
let loaded = 0
/** Loaded processes without work, and command lines that wait for a loaded process. */
const idle: ChildProcess[] = []
const waiting: ((child: ChildProcess) => void)[] = []

const take = (): ChildProcess | Promise<ChildProcess> => {
  const child = idle.pop()
  if (child !== undefined) return child
  if (loaded === 0) return load()
  patience.refresh()
  return new Promise((resolve) => waiting.push(resolve))
}

const patience = setTimeout(() => {
  if (waiting.length > 0 && loaded < LOADED_MAX) giveBack(load())
}, PATIENCE_MS).unref()

const giveBack = (child: ChildProcess): void => {
  patience.refresh()
  const next = waiting.shift()
  if (next === undefined) idle.push(child)
  else next(child)
}

const load = (): ChildProcess => {
  loaded += 1
  const child = fork(new URL('warm.mjs', import.meta.url).pathname, [], {
    // One thread for files and queries, and none of V8: it uses a twentieth less CPU.
    env: { PATH: process.env.PATH, UV_THREADPOOL_SIZE: '1' },
    execArgv: ['--liftoff-only', '--single-threaded'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  child.stdout?.setEncoding('utf8')
  child.stderr?.setEncoding('utf8')
  return child
}

const untilMark = (stream: Readable | null, mark: string): Promise<string> =>
  new Promise((resolve) => {
    let text = ''
    const collect = (more: string) => {
      text += more
      if (!text.endsWith(mark)) return
      stream?.off('data', collect)
      resolve(text.slice(0, -mark.length))
    }
    stream?.on('data', collect)
  })

const answerOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    const fail = (code: number | null) => reject(new Error(`the loaded command ended with ${code}`))
    child.once('exit', fail)
    child.once('message', (code: number) => {
      child.off('exit', fail)
      resolve(code)
    })
  })

/**
 * The first sync of most tests begins with an empty warehouse, because its creation takes a third of a small sync. A directory
 * whose parent does not exist yet is left to the command. So is every directory in a process of its own.
 */
const prepareFirstSync = async (args: readonly string[], env: Env): Promise<void> => {
  const directory = env.FIELDWORK_SYNC_WAREHOUSE
  // A bucket restores its own warehouse into an empty directory.
  if (
    args[0] !== 'sync' ||
    env.FIELDWORK_SYNC_STORAGE_URL !== undefined ||
    !directory ||
    !existsSync(dirname(directory))
  )
    return
  if (!existsSync(directory)) await mkdir(directory)
  else if ((await readdir(directory).catch(() => ['not a directory'])).length > 0) return
  await putEmptyWarehouse(directory)
}

const runLoaded = async (args: readonly string[], env: Env = {}): Promise<Ended> => {
  await prepareFirstSync(args, env)
  const child = await take()
  const mark = `${randomUUID()}\n`
  const texts = [untilMark(child.stdout, mark), untilMark(child.stderr, mark)] as const
  const answer = answerOf(child)
  child.send({ args, env: { PATH: process.env.PATH, ...env }, mark })
  const code = await answer
  const [stdout, stderr] = await Promise.all(texts)
  giveBack(child)
  return { code, signal: null, stdout, stderr }
}

/** Runs a command line to its end. It inherits only PATH from the tests' environment. */
export const runWarm = SLOW ? (args: readonly string[], env: Env = {}) => run(args, env) : runLoaded
