/** Starts the real command as a child process: `node dist/main.js`, as the package installs it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export const MAIN = new URL('../../../dist/main.js', import.meta.url).pathname

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  /** Resolves when the process has ended and its output is complete. */
  readonly ended: Promise<Ended>
  stderr(): string
}

export type Env = Readonly<Record<string, string | undefined>>

/** Starts a command line. It inherits only PATH from the tests' environment. `main` may be another build. */
export const start = (args: readonly string[], env: Env = {}, main = MAIN, cwd = process.cwd()): Running => {
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'close').then(
    (): Ended => ({ code: child.exitCode, signal: child.signalCode, stdout, stderr }),
  )
  return { child, ended, stderr: () => stderr }
}

export const run = (args: readonly string[], env: Env = {}, cwd = process.cwd()): Promise<Ended> =>
  start(args, env, MAIN, cwd).ended
