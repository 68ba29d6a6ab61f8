/**
 * The connection to the Redis of a shared cap. Every command has a time limit and none waits for a connection, so nothing hangs when
 * Redis is away. Errors carry our own words: those of the client library hold the arguments of commands, including a password.
 */
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { messageOf } from '../../../base/errors.js'
import { parse } from '../../../base/parse.js'
import { createRedactor, type Secret, secretsInUrl } from '../../../base/secret.js'

export const COMMAND_MS_MAX = 2_000
const CONNECT_MS_MAX = 3_000
const RECONNECT_EVERY_MS = 500

/** A command failed. The shared cap decides what that means; people never see this error itself. */
export class RedisTrouble extends Error {}

/** Redis answers, but refuses the login or the database in its address. Waiting does not help. */
export class RedisRefusal extends RedisTrouble {}

export type RedisConnection = ReturnType<typeof connectRedis>

/** What the script answers, and the milliseconds that go with it. */
export type Reply = z.infer<typeof replySchema>

const replySchema = z.tuple([z.enum(['taken', 'wait', 'paused', 'unknown', 'held']), z.number().int()])

/** Connects with the first `run`. `name` is the prefix of the account's keys. */
export const connectRedis = (url: Secret, name: string) => {
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
    /** For messages: scheme, host and port, no credentials. */
    address: `${protocol}//${host}`,
    /** Rejects with a `RedisTrouble` within `COMMAND_MS_MAX`, or `CONNECT_MS_MAX` the first time. */
    run: async (operation: Operation): Promise<Reply> => {
      connecting ??= open()
      const client = await connecting
      if (!isReady(client)) throw new RedisTrouble(redact(lastProblem))
      if (refusal !== null) {
        const problem = `it refuses the login or the database in its address${database}`
        throw new RedisRefusal(`${problem} (${redact(refusal)})`)
      }
      try {
        const reply = await client.eval(SCRIPT, keys.length, ...keys, ...operation)
        return parse(replySchema, reply, 'the answer of its script')
      } catch (error) {
        throw new RedisTrouble(redact(isReady(client) ? problemOf(error) : lastProblem))
      }
    },
    close: async (): Promise<void> => {
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

/** The arguments of the script, in their order; times are milliseconds. */
type Operation =
  /**
   * Takes a slot for request `id`. Answers `taken`; `wait`, ms until there may be a slot; `paused`, ms left; or `unknown`, ms for which
   * all processes pause from now on, because this Redis may lack the newest requests. The first call of a process sets the cap.
   */
  | readonly ['take', id: string, lifeMs: number, quietMs: number, cap: number, isFirst: 0 | 1]
  /** Ends a hold so many ms from now: earlier than it would end, never later. */
  | readonly ['hold', id: string, durationMs: number]
  /** Pauses all processes. A longer pause stays. */
  | readonly ['pause', durationMs: number]

/**
 * A sorted set has a member for each request; its score is the time until which
 * the request holds its slot. A hash has the cap, and the start of Redis in which it was written. A key with an expiration pauses all processes.
 * - **A taken slot** is held until its request can no longer count, whatever becomes of it. A SIGKILL leaves the slot so.
 * - **When the response headers arrive**, the slot is held for one more window and a margin. Nothing else ends the hold.
 * So nothing has to be kept alive in Redis, and a process may end at any moment.
 *
 * A Redis that was started again, or has no settings, may lack the newest requests: it pauses all processes. An append-only file does not
 * help, see docs/decisions/cap.md#0022-a-forgetful-redis-pauses-everyone. All times are those of the Redis server, so clocks of machines do
 * not matter.
 */
const SCRIPT = `
local slots, settings, pause = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local function pause_for(ms)
  if redis.call('pttl', pause) < ms then redis.call('set', pause, 1, 'px', ms) end
  return redis.call('pttl', pause)
end

if ARGV[1] == 'pause' then return {'paused', pause_for(tonumber(ARGV[2]))} end
if ARGV[1] == 'hold' then
  local until_ms = redis.call('zscore', slots, ARGV[2])
  if until_ms then redis.call('zadd', slots, math.min(until_ms, now_ms + ARGV[3]), ARGV[2]) end
  return {'held', 0}
end

local id, life_ms, quiet_ms, cap, is_first = unpack(ARGV, 2)
local run = string.match(redis.call('info', 'server'), 'run_id:(%x+)')
local known_run = redis.call('hget', settings, 'run')
if is_first == '1' or not known_run then redis.call('hset', settings, 'cap', cap) end
if known_run ~= run then
  redis.call('hset', settings, 'run', run)
  return {'unknown', pause_for(tonumber(quiet_ms))}
end

local paused_ms = redis.call('pttl', pause)
if paused_ms > 0 then return {'paused', paused_ms} end
redis.call('zremrangebyscore', slots, '-inf', now_ms)
if redis.call('zcard', slots) < tonumber(redis.call('hget', settings, 'cap')) then
  redis.call('zadd', slots, now_ms + life_ms, id)
  return {'taken', 0}
end
local next_free = redis.call('zrange', slots, 0, 0, 'withscores')
return {'wait', math.max(1, next_free[2] - now_ms)}
`

/** The three keys of an account. The braces keep them together in a cluster. */
const keysOf = (name: string): readonly string[] =>
  ['slots', 'settings', 'pause'].map((key) => `{${name}}:${key}`)
