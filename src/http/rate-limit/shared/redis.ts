/**
 * The connection to the Redis of a shared cap. The client library is loaded with the first connection only.
 * Every command has a time limit and none waits for a connection, so nothing hangs when Redis is away. Errors carry
 * our own words: the errors of the client library hold the arguments of commands, including a password.
 */

import type { Redis } from 'ioredis'
import { z } from 'zod'
import { messageOf } from '../../../base/errors.js'
import { parse } from '../../../base/parse.js'
import { createRedactor, type Secret, secretsInUrl } from '../../../base/secret.js'
import { keysOf, type Operation, SCRIPT } from './script.js'

/** Time limit of one command, milliseconds. */
export const COMMAND_MS_MAX = 2_000
const CONNECT_MS_MAX = 3_000
const RECONNECT_EVERY_MS = 500

/** A command failed. The shared cap decides what that means; people never see this error itself. */
export class RedisTrouble extends Error {}

/** Redis answers, but refuses the login or the database in its address. Waiting does not help. */
export class RedisRefusal extends RedisTrouble {}

export interface RedisConnection {
  /** Rejects with a `RedisTrouble` within `COMMAND_MS_MAX`, or `CONNECT_MS_MAX` the first time. */
  run(operation: Operation): Promise<Reply>
  /** For messages: scheme, host and port, no credentials. */
  readonly address: string
  close(): Promise<void>
}

/** What the script answers, and the milliseconds that go with it. */
export type Reply = z.infer<typeof replySchema>

const replySchema = z.tuple([z.enum(['taken', 'wait', 'paused', 'unknown', 'held']), z.number().int()])

/** Connects with the first `run`. `name` is the prefix of the account's keys. */
export const connectRedis = (url: Secret, name: string): RedisConnection => {
  const { protocol, host, pathname } = new URL(url.reveal())
  const database = pathname.length > 1 ? `, database ${pathname.slice(1)}` : ''
  const redact = createRedactor(secretsInUrl(url))
  const keys = keysOf(name)
  let connecting: Promise<Redis> | null = null
  let opened: Redis | null = null
  let lastProblem = 'not connected'
  /** Redis' refusal of the commands with which the client opens a connection. The client goes on without them. */
  let refusal: string | null = null
  const open = async (): Promise<Redis> => {
    const [{ Redis: Client, ReplyError }, { default: debug }] = await Promise.all([
      import('ioredis'),
      import('debug'),
    ])
    // With DEBUG in the environment the client would print every command, including AUTH with its password.
    debug.disable()
    const client = new Client(url.reveal(), {
      lazyConnect: true,
      protocol: 2,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      connectTimeout: CONNECT_MS_MAX,
      commandTimeout: COMMAND_MS_MAX,
      retryStrategy: () => RECONNECT_EVERY_MS,
    })
    client.on('connect', () => {
      refusal = null
    })
    client.on('error', (error: unknown) => {
      lastProblem = problemOf(error)
      if (error instanceof ReplyError) refusal = lastProblem
    })
    client.on('ready', () => {
      lastProblem = 'the connection was lost'
    })
    opened = client
    await client.connect().catch(() => undefined)
    return client
  }
  return {
    address: `${protocol}//${host}`,
    run: async (operation) => {
      connecting ??= open()
      const client = await connecting
      if (!isReady(client)) throw new RedisTrouble(redact(lastProblem))
      if (refusal !== null)
        throw new RedisRefusal(
          `it refuses the login or the database in its address${database} (${redact(refusal)})`,
        )
      try {
        return parse(
          replySchema,
          await client.eval(SCRIPT, keys.length, ...keys, ...operation),
          'the answer of its script',
        )
      } catch (error) {
        throw new RedisTrouble(redact(isReady(client) ? problemOf(error) : lastProblem))
      }
    },
    close: async () => {
      await connecting
      opened?.disconnect()
    },
  }
}

const isReady = ({ status }: Redis): boolean => status === 'ready'

const problemOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return CODES[code] ?? (messageOf(error).split('\n')[0] || code || 'no reason was given')
}

const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'no such host',
  ETIMEDOUT: 'no answer',
}
