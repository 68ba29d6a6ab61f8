/**
 * Runs command lines in a process that has already loaded the command. Loading takes most of the CPU of a short
 * command, so `npm test` loads the same build once, in a child process (`warm.mjs`), for many command lines.
 * Tests of processes use `start`: signals, kills, start and exit. The full suite starts a process per command line.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import pLimit from 'p-limit'
import { workFile } from '../../../src/warehouse/lifecycle/files.js'
import { TEMPORARY_ROOT } from '../files/temporary.js'
import { ALL_CASES } from '../suite/cases.js'
import { emptyWarehouse } from '../warehouse/warehouse.js'
import { type Ended, type Env, run, withEndLine } from './command.js'

/**
 * The one loaded process, without work. The first sync of a process takes twice the CPU of the second, so command lines wait for it. A
 * test in which one command line waits for another starts a process for one of them.
 */
let idle: ChildProcess | null = null
const oneAtATime = pLimit(1)

const load = (): ChildProcess => {
  const child = fork(fileURLToPath(new URL('warm.mjs', import.meta.url)), [], {
    // One thread for files and queries, and none of V8: it uses a twentieth less CPU.
    env: { PATH: process.env.PATH, UV_THREADPOOL_SIZE: '1' },
    execArgv: ['--single-threaded', '--disable-warning=ExperimentalWarning'],
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
 * A first sync of a warehouse without a bucket finds an empty one. To create its tables and views takes 0.4 s of CPU, which only the full suite
 * spends on each.
 */
const placeWarehouse = async ([command]: readonly string[], env: Env, cwd: string): Promise<void> => {
  const { FIELDWORK_SYNC_WAREHOUSE: warehouse, FIELDWORK_SYNC_STORAGE_URL: bucket } = env
  if (command !== 'sync' || warehouse === undefined || bucket !== undefined) return
  const directory = resolve(cwd, warehouse)
  const isNew = existsSync(dirname(directory)) && !existsSync(directory)
  if (!isNew || !directory.startsWith(TEMPORARY_ROOT)) return
  mkdirSync(directory)
  writeFileSync(workFile(directory), await emptyWarehouse())
}

const runLoaded = async (args: readonly string[], env: Env, cwd: string): Promise<Ended> => {
  await placeWarehouse(args, env, cwd)
  const child = idle ?? load()
  idle = null
  const mark = `${randomUUID()}\n`
  const texts = [untilMark(child.stdout, mark), untilMark(child.stderr, mark)] as const
  const answer = answerOf(child)
  child.send({ args, env: { PATH: process.env.PATH, ...env }, cwd, mark })
  const code = await answer
  const [stdout, stderr] = await Promise.all(texts)
  idle = child
  return { code, signal: null, stdout, ...withEndLine(stderr) }
}

/** Runs a command line to its end. It inherits only PATH from the tests' environment. */
export const runWarm = ALL_CASES
  ? run
  : (args: readonly string[], env: Env = {}, cwd = process.cwd()) =>
      oneAtATime(() => runLoaded(args, env, cwd))
