/** Starts the real command as a child process: `node dist/main.js`, as the package installs it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  /** Without the last line, if that is one of JSON that says how the command ended. */
  readonly stderr: string
  /** That line; null without one. */
  readonly end: EndLine | null
}

export type EndLine = Readonly<Record<'level' | 'status' | 'next' | 'msg', string>> & {
  readonly exit_code: number
  readonly reason: string | null
}

/** Takes the last line apart, which says how the command ended. */
export const withEndLine = (stderr: string): Pick<Ended, 'stderr' | 'end'> => {
  const [, rest = '', line = ''] = /^((?:.*\n)*?)(\{"level":.* ended with exit \d"\})\n$/.exec(stderr) ?? []
  return line === '' ? { stderr, end: null } : { stderr: rest, end: JSON.parse(line) }
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
    (): Ended => ({
      ...{ code: child.exitCode, signal: child.signalCode, stdout },
      ...withEndLine(stderr),
    }),
  )
  return { child, ended, stderr: () => stderr }
}

export const run = (args: readonly string[], env: Env = {}, cwd = process.cwd()): Promise<Ended> =>
  start(args, env, MAIN, cwd).ended
