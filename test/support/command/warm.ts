/**
 * Command lines for which it does not matter that a process begins with them. To load the command takes more CPU than
 * the sync of a few surveys does (0.8 s of 1.15 s), so `npm test` loads the same build once, in a process of its own
 * (`warm.mjs`), and has it run one command line after the other. Whatever is about a process, such as signals, kills
 * and how it begins and ends, needs `start`. In `npm run test:slow` every command line is a process.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { SLOW } from '../suite/slow.js'
import { type Ended, type Env, run } from './command.js'

/** Tests of a file may run side by side. */
const LOADED_MAX = 2
let loaded = 0
/** Those that wait for a command line, and command lines that wait for one of them. */
const idle: ChildProcess[] = []
const waiting: ((child: ChildProcess) => void)[] = []

const take = (): ChildProcess | Promise<ChildProcess> => {
  const child = idle.pop()
  if (child !== undefined) return child
  if (loaded === LOADED_MAX) return new Promise((resolve) => waiting.push(resolve))
  loaded += 1
  return load()
}

const giveBack = (child: ChildProcess): void => {
  const next = waiting.shift()
  if (next === undefined) idle.push(child)
  else next(child)
}

const load = (): ChildProcess => {
  const child = fork(new URL('warm.mjs', import.meta.url).pathname, [], {
    env: { PATH: process.env.PATH },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  child.stdout?.setEncoding('utf8')
  child.stderr?.setEncoding('utf8')
  return child
}

/** What comes before the mark. */
const untilMark = (stream: Readable | null, mark: string): Promise<string> =>
  new Promise((resolve) => {
    let text = ''
    const hear = (more: string) => {
      text += more
      if (!text.endsWith(mark)) return
      stream?.off('data', hear)
      resolve(text.slice(0, -mark.length))
    }
    stream?.on('data', hear)
  })

const answerOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    const gone = (code: number | null) => reject(new Error(`the loaded command ended, with ${code}`))
    child.once('exit', gone)
    child.once('message', (code: number) => {
      child.off('exit', gone)
      resolve(code)
    })
  })

const runLoaded = async (args: readonly string[], env: Env = {}): Promise<Ended> => {
  const child = await take()
  const mark = `${randomUUID()}\n`
  const told = [untilMark(child.stdout, mark), untilMark(child.stderr, mark)] as const
  const answer = answerOf(child)
  child.send({ args, env: { PATH: process.env.PATH, ...env }, mark })
  const code = await answer
  const [stdout, stderr] = await Promise.all(told)
  giveBack(child)
  return { code, signal: null, stdout, stderr }
}

/** Runs a command line to its end; of the environment of the tests it gets only PATH. */
export const runWarm = SLOW ? (args: readonly string[], env: Env = {}) => run(args, env) : runLoaded
