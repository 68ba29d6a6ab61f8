/** Servers on free ports of loopback: those of a test, and programs that are not ours. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Finished } from '../files/temporary.js'

type AnyServer = Server & { closeAllConnections?: () => void }

/** Listens until the test has finished. Returns the port. */
export const listen = async (server: AnyServer, finished?: Finished): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  finished?.(() => closeServer(server))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

export const closeServer = async (server: AnyServer): Promise<void> => {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections?.()
  await closed
}

/** A port that was free a moment ago, for programs that cannot choose one themselves. */
export const freePort = async (): Promise<number> => {
  const server = createServer()
  const port = await listen(server)
  await closeServer(server)
  return port
}

export const isThere = (program: string, version = '--version'): boolean =>
  spawnSync(program, [version]).status === 0

export interface Program {
  /** Ends it with SIGKILL, like a crash. */
  kill(): Promise<void>
  /** Starts it again in the same way. */
  start(): Promise<void>
}

/** Starts a program and waits until it is up. It ends with the test. */
export const startProgram = async (
  finished: Finished,
  command: string,
  args: readonly string[],
  isUp: () => Promise<unknown>,
  env = process.env,
): Promise<Program> => {
  let child: ChildProcess | null = null
  const kill = async () => {
    if (child === null || (child.exitCode ?? child.signalCode) !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    child = null
    await ended
  }
  const start = async () => {
    const started = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env })
    child = started
    let stderr = ''
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    while (!(await isUp().catch(() => false))) {
      if (started.exitCode !== null) throw new Error(`${command} ended: ${stderr}`)
      await delay(20)
    }
  }
  finished(kill)
  await start()
  return { kill, start }
}
