/**
 * The connection to the Redis of a shared cap. Every command has a time limit and none waits for a connection, so nothing hangs when Redis
 * is away. Errors have texts of ours, because errors of the client library contain the arguments of commands, including a password.
 */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { messageOf } from '../../../base/errors.js'
import { parse } from '../../../base/parse.js'
import { createRedactor, type Secret, secretsInUrl } from '../../../base/secret.js'

export const COMMAND_MS_MAX = 2_000
const CONNECT_MS_MAX = 3_000
const RECONNECT_EVERY_MS = 500

/** A command failed. The shared cap decides what follows; people never see this error itself. */
export class RedisTrouble extends Error {}

/** Redis answers, but refuses the login or the database in its address. Waiting does not help. */
export class RedisRefusal extends RedisTrouble {}

export type RedisConnection = ReturnType<typeof connectRedis>

/** The answer of the script: a word and milliseconds. */
export type Reply = z.infer<typeof replySchema>

const replySchema = z.tuple([z.enum(['taken', 'wait', 'paused', 'unknown', 'held']), z.number().int()])

/** What Redis does when its memory is full. */
export interface Eviction {
  /** `maxmemory-policy`. */
  readonly policy: string
  /** Without a limit, nothing is evicted. */
  readonly hasLimit: boolean
}

/** Connects with the first `run`. `name` begins the account's key. */
export const connectRedis = (url: Secret, name: string) => {
  const { protocol, host, pathname } = new URL(url.reveal())
  const database = pathname.length > 1 ? `, database ${pathname.slice(1)}` : ''
  const redact = createRedactor(secretsInUrl(url))
  const key = `{${name}}:cap`
  let connecting: Promise<Client> | null = null
  let lastProblem = 'not connected'
  /** Redis' refusal of the login or the database. The client goes on trying to connect. */
  let refusal: string | null = null
  const open = async (): Promise<Client> => {
    const { client, ErrorReply } = await createClient(url)
    client.on('error', (error: unknown) => {
      lastProblem = problemOf(error)
      refusal = error instanceof ErrorReply && !TEMPORARY.test(lastProblem) ? lastProblem : null
    })
    client.on('ready', () => {
      lastProblem = LOST
      refusal = null
    })
    // The promise also resolves when a later attempt succeeds.
    client.connect().catch(() => undefined)
    await within(CONNECT_MS_MAX, once(client, 'ready')).catch(() => undefined)
    return client
  }
  /** Rejects with a `RedisTrouble` within `COMMAND_MS_MAX`, or `CONNECT_MS_MAX` more the first time. */
  const command = async <Answer>(send: (client: Client) => Promise<Answer>): Promise<Answer> => {
    connecting ??= open()
    const client = await connecting
    if (refusal !== null) {
      const problem = `it refuses the login or the database in its address${database}`
      throw new RedisRefusal(`${problem} (${redact(refusal)})`)
    }
    if (!client.isReady) throw new RedisTrouble(redact(lastProblem))
    try {
      return await within(COMMAND_MS_MAX, send(client))
    } catch (error) {
      throw new RedisTrouble(redact(client.isReady ? problemOf(error) : lastProblem))
    }
  }
  return {
    /** For messages: scheme, host and port, no credentials. */
    address: `${protocol}//${host}`,
    /** Rejects with a `RedisTrouble`. */
    run: (operation: Operation): Promise<Reply> =>
      command(async (client) =>
        parse(
          replySchema,
          await client.eval(SCRIPT, { keys: [key], arguments: operation.map(String) }),
          'the answer of its script',
        ),
      ),
    /** Rejects with a `RedisTrouble`. */
    eviction: async (): Promise<Eviction> => {
      const memory = await command((client) => client.info('memory'))
      const field = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(memory)?.[1] ?? null
      return { policy: field('maxmemory_policy') ?? 'unknown', hasLimit: field('maxmemory') !== '0' }
    },
    close: async (): Promise<void> => {
      const client = await connecting
      client?.destroy()
    },
  }
}

type Client = Awaited<ReturnType<typeof createClient>>['client']

/** The library is loaded only for a shared cap. */
const createClient = async (url: Secret) => {
  const library = await import('@redis/client')
  const client = library.createClient({
    url: url.reveal(),
    RESP: 2,
    disableOfflineQueue: true,
    socket: { connectTimeout: CONNECT_MS_MAX, reconnectStrategy: RECONNECT_EVERY_MS },
  })
  return { client, ErrorReply: library.ErrorReply }
}

/** Rejects if `work` takes longer. The library limits only the time until a command is sent. */
const within = async <Value>(ms: number, work: Promise<Value>): Promise<Value> => {
  const timeout = new AbortController()
  const late = delay(ms, null, { signal: timeout.signal }).then(() => {
    throw new RedisTrouble('Command timed out')
  })
  try {
    return await Promise.race([work, late])
  } finally {
    timeout.abort()
  }
}

const LOST = 'the connection was lost'
/** Redis is loading its data, or is busy with a script. */
const TEMPORARY = /^(?:LOADING|BUSY|MASTERDOWN)\b/

const problemOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const name = error instanceof Error ? error.constructor.name : ''
  return (
    PROBLEMS[code] ?? PROBLEMS[name] ?? (messageOf(error).split('\n')[0] || code || 'no reason was given')
  )
}

/** The problem in words, by the code or the class of an error. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'no such host',
  ETIMEDOUT: 'no answer',
  ConnectionTimeoutError: 'no answer',
  SocketClosedUnexpectedlyError: LOST,
}

/** The arguments of the script, in their order; times are milliseconds. */
type Operation =
  /**
   * Takes a slot for request `id`. Answers `taken`; `wait`, ms until there may be a slot; `paused`, ms left; or `unknown`, ms for which
   * all processes pause from now on, because this Redis may lack the newest requests. The first call of a process sets the cap.
   */
  | readonly ['take', id: string, lifeMs: number, quietMs: number, cap: number, isFirst: 0 | 1]
  /** Makes a hold end `durationMs` from now. A hold only ever becomes shorter. */
  | readonly ['hold', id: string, durationMs: number]
  /** Pauses all processes. A longer pause that has begun stays. */
  | readonly ['pause', durationMs: number]

/**
 * The state of an account is one sorted set without an expiration, so Redis can lose it only as a whole. It has a member for each request, whose
 * score is the time until which the request holds its slot. Below zero are `pause`, minus the time until which all processes pause; the
 * cap, as `cap`; and `run:` with the start of Redis in which it was written.
 * - **A taken slot** is held until its request can no longer count, whatever becomes of it. A SIGKILL leaves the slot so.
 * - **When the response headers arrive**, the slot is held for one more window and a margin. Nothing else ends the hold.
 * So nothing has to be kept alive in Redis, and a process may end at any moment.
 *
 * A Redis that was started again, or has lost the set, may lack the newest requests: it pauses all processes. An append-only file does not
 * help, see docs/decisions/cap.md#0022-a-forgetful-redis-pauses-everyone. All times are those of the Redis server, so clocks of machines do
 * not matter.
 */
const SCRIPT = `
local state = KEYS[1]
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local function paused_ms()
  return -(tonumber(redis.call('zscore', state, 'pause')) or 0) - now_ms
end
local function pause_for(ms)
  if paused_ms() < ms then redis.call('zadd', state, -(now_ms + ms), 'pause') end
  return paused_ms()
end

if ARGV[1] == 'pause' then return {'paused', pause_for(tonumber(ARGV[2]))} end
if ARGV[1] == 'hold' then
  local until_ms = redis.call('zscore', state, ARGV[2])
  if until_ms then redis.call('zadd', state, math.min(until_ms, now_ms + ARGV[3]), ARGV[2]) end
  return {'held', 0}
end

local id, life_ms, quiet_ms, cap, is_first = unpack(ARGV, 2)
local run = 'run:' .. string.match(redis.call('info', 'server'), 'run_id:(%x+)')
local known_cap = redis.call('zscore', state, 'cap')
if is_first == '1' or not known_cap then
  redis.call('zadd', state, -cap, 'cap')
  known_cap = -cap
end
if not redis.call('zscore', state, run) then
  redis.call('zadd', state, -1, run)
  return {'unknown', pause_for(tonumber(quiet_ms))}
end

local pause_ms = paused_ms()
if pause_ms > 0 then return {'paused', pause_ms} end
redis.call('zremrangebyscore', state, 0, now_ms)
if redis.call('zcount', state, 0, '+inf') < -known_cap then
  redis.call('zadd', state, now_ms + life_ms, id)
  return {'taken', 0}
end
local next_free = redis.call('zrangebyscore', state, 0, '+inf', 'withscores', 'limit', 0, 1)
return {'wait', math.max(1, next_free[2] - now_ms)}
`
