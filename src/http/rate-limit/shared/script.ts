/**
 * The shared cap, as three keys in Redis and one script. A sorted set has a member for each request; its score is the time until which
 * the request holds its slot. A hash has the cap, and the start of Redis in which it was written. A key with an expiration pauses all processes.
 * - **A taken slot** is held until its request can no longer count, whatever becomes of it. A SIGKILL leaves the slot so.
 * - **When the response headers arrive**, the slot is held for one more window and a margin. Nothing else ends the hold.
 * So nothing has to be kept alive in Redis, and a process may end at any moment.
 *
 * A Redis that was started again, or has no settings, may lack the newest requests: it pauses all processes. An append-only file does not
 * help, see docs/decisions/cap.md#0022-a-forgetful-redis-pauses-everyone. All times are those of the Redis server, so clocks of machines do
 * not matter.
 */

/** The arguments of the script, in their order; times are milliseconds. */
export type Operation =
  /**
   * Takes a slot for request `id`. Answers `taken`; `wait`, ms until there may be a slot; `paused`, ms left; or `unknown`, ms for which
   * all processes pause from now on, because this Redis may lack the newest requests. The first call of a process sets the cap.
   */
  | readonly ['take', id: string, lifeMs: number, quietMs: number, cap: number, isFirst: 0 | 1]
  /** Ends a hold so many ms from now: earlier than it would end, never later. */
  | readonly ['hold', id: string, durationMs: number]
  /** Pauses all processes. A longer pause stays. */
  | readonly ['pause', durationMs: number]

export const SCRIPT = `
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

/** All that the script of an account touches. The braces keep it together in a cluster. */
export const keysOf = (name: string): readonly string[] =>
  ['slots', 'settings', 'pause'].map((key) => `{${name}}:${key}`)
