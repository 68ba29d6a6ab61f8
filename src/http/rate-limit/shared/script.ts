/**
 * The cap that processes share, as three keys in Redis and one script. A sorted set holds a member for each request, whose score is the
 * time until which it holds its slot. A hash holds the settings, and which start of Redis wrote them. A key with an expiration pauses everybody.
 * - **A slot that is taken** is held until everything that may still become of its request is over. That is what a SIGKILL leaves.
 * - **Once the response headers are here** it is held for one window and a margin more. Nothing else ends it.
 * So nothing has to be kept alive in Redis, and a process may end at any moment.
 *
 * A Redis that does not know the past pauses everybody: one without the settings, and one that was started again, for then the newest
 * requests may be missing. With an append-only file none is missing, because Redis writes it before it answers. A restart is
 * not trusted either where a process may go on without Redis. All times are those of the Redis server, so clocks of machines do not matter.
 */

/** The arguments of the script, in their order; times are milliseconds. */
export type Operation =
  /**
   * Takes a slot for request `id`. Answers `taken`; `wait`, ms until there may be a slot; `paused`, ms; or `unknown`, ms for which
   * everybody is paused from now on, because this Redis does not know the past. The first call of a process writes its settings.
   */
  | readonly [
      'take',
      id: string,
      lifeMs: number,
      quietMs: number,
      cap: number,
      mayFallBack: 0 | 1,
      isFirst: 0 | 1,
    ]
  /** Ends a hold so many ms from now: earlier than it would end, never later. */
  | readonly ['hold', id: string, durationMs: number]
  /** Pauses everybody. A longer pause stays. */
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

local id, life_ms, quiet_ms, cap, may_fall_back, is_first = unpack(ARGV, 2)
local run = string.match(redis.call('info', 'server'), 'run_id:(%x+)')
local known_run = redis.call('hget', settings, 'run')
local is_unknown = false
if known_run ~= run then
  local keeps_all = string.find(redis.call('info', 'persistence'), 'aof_enabled:1', 1, true)
  local was_done_without = redis.call('hget', settings, 'may_fall_back') == '1'
  is_unknown = not known_run or not keeps_all or was_done_without
  redis.call('hset', settings, 'run', run)
end
if is_first == '1' or not known_run then redis.call('hset', settings, 'cap', cap) end
if may_fall_back == '1' then redis.call('hset', settings, 'may_fall_back', 1) end
if is_unknown then return {'unknown', pause_for(tonumber(quiet_ms))} end

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
