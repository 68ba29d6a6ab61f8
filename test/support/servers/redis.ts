/** Starts a Redis for one test, on a free port of loopback, in an empty directory. */
import { createClient } from '@redis/client'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { freePort, type Program, startProgram } from './server.js'

export interface TestRedis extends Program {
  /** Contains the password, where there is one. */
  readonly url: string
  call(command: string, ...args: string[]): Promise<unknown>
}

/** `aof` keeps an append-only file. */
export const startRedis = async (
  finished: Finished,
  { aof = false, password = '' }: { readonly aof?: boolean; readonly password?: string } = {},
): Promise<TestRedis> => {
  const directory = await temporaryDirectory(finished)
  const port = await freePort()
  const url = `redis://${password === '' ? '' : `:${password}@`}127.0.0.1:${port}`
  const open = () => createClient({ url, RESP: 2, socket: { reconnectStrategy: false } })
  const admin = async <Value>(work: (client: ReturnType<typeof open>) => Promise<Value>): Promise<Value> => {
    const client = open()
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await work(client)
    } finally {
      client.destroy()
    }
  }
  const args = [
    ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory],
    ...['--appendonly', aof ? 'yes' : 'no', ...(password === '' ? [] : ['--requirepass', password])],
  ]
  const isUp = () => admin((client) => client.ping())
  const program = await startProgram(finished, 'redis-server', args, isUp)
  return {
    ...program,
    url,
    call: (command, ...given) => admin((client) => client.sendCommand([command, ...given])),
  }
}
