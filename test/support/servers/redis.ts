/** Starts a Redis for one test, on a free port of loopback, in an empty directory. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { freePort } from './free-port.js'

/** Whether there is a redis-server to start. Its Debian package has the same name. */
export const HAS_REDIS = spawnSync('redis-server', ['--version']).status === 0
if (!HAS_REDIS) console.warn('skipped: tests that need a redis-server, because there is none on the PATH')

export interface TestRedis {
  /** Contains the password, where there is one. */
  readonly url: string
  /** Ends the server with SIGKILL, like a crash. */
  kill(): Promise<void>
  /** Starts the server again in the same directory, on the same port. */
  start(): Promise<void>
  /** Runs one command as an administrator. */
  call(command: string, ...args: string[]): Promise<unknown>
}

interface RedisOptions {
  /** Keep an append-only file. */
  readonly aof?: boolean
  readonly password?: string
}

export const startRedis = async (
  finished: Finished,
  { aof = false, password = '' }: RedisOptions = {},
): Promise<TestRedis> => {
  const directory = await temporaryDirectory(finished)
  const port = await freePort()
  const url = `redis://${password === '' ? '' : `:${password}@`}127.0.0.1:${port}`
  let child: ChildProcess | null = null
  const admin = async <Value>(work: (client: Redis) => Promise<Value>): Promise<Value> => {
    const client = new Redis(url, { protocol: 2, lazyConnect: true, retryStrategy: () => null })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await work(client)
    } finally {
      client.disconnect()
    }
  }
  const isUp = () =>
    admin((client) => client.ping()).then(
      () => true,
      () => false,
    )
  const redis: TestRedis = {
    url,
    start: async () => {
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory]
      const more = [
        '--appendonly',
        aof ? 'yes' : 'no',
        ...(password === '' ? [] : ['--requirepass', password]),
      ]
      child = spawn('redis-server', [...args, ...more], { stdio: 'ignore' })
      while (!(await isUp())) await delay(20)
    },
    kill: async () => {
      if (child === null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      child = null
      await ended
    },
    call: (command, ...args) => admin((client) => client.call(command, ...args)),
  }
  finished(() => redis.kill())
  await redis.start()
  return redis
}
