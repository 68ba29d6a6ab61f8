/**
 * The slots of an account in Redis: Bottleneck's own datastore, through its own scripts, without its clustered job queue. That one frees a
 * slot when its job ends, so that a process which ends early frees what the server still counts; after a loss of its keys it begins
 * afresh with all slots free; and it goes by the clock of whoever asks. Here a slot is taken with Bottleneck's `register` and is free
 * when the expiration of its job says so, and never by anything else:
 * - **Taken** until everything that may still become of its request is over: `claimLifeMs`. That is what a SIGKILL leaves.
 * - **Held** from the response headers on: the expiration moves to one window and a margin from then.
 * So nothing has to be kept alive in Redis, and a process may end at any moment.
 *
 * Bottleneck does not see that its keys or its client are gone where Redis 7 puts "ERR " before the texts that it compares with
 * (`SETTINGS_KEY_NOT_FOUND`, `UNKNOWN_CLIENT`). So neither is left to it: the first is looked for before, the second is matched
 * with or without the prefix (`taken` below). All times are those of the Redis server, so clocks of machines do not matter.
 */
import { allKeys, payload } from 'bottleneck/lib/Scripts.js'

/** What a script answers, and what it takes, is beside it. Times and durations are milliseconds. */
export interface Script {
  readonly lua: string
}

/** Written over the caller's time, the first argument of all of Bottleneck's scripts. */
const NOW = `
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
`

const RUN = `string.match(redis.call('info', 'server'), 'run_id:(%x+)')`

/** Bottleneck's script as a function of its arguments. */
const asFunction = (name: 'init' | 'register' | 'register_client'): string =>
  `local ${name} = function(ARGV)\n${payload(name)}\nend\n`

/**
 * client, index, claimLifeMs -> `taken`; `wait`, ms until there may be a slot; `frozen`, ms; or `unknown`: `BEGIN` first, for this
 * Redis does not know the account, or not this process, or was started again.
 */
export const CLAIM: Script = {
  lua: `${NOW}
if redis.call('hget', KEYS[1], 'run') ~= ${RUN} then return {'unknown', 0} end
local frozen_ms = redis.call('pttl', KEYS[9])
if frozen_ms > 0 then return {'frozen', frozen_ms} end
${asFunction('register')}
local taken = register({now_ms, ARGV[1], ARGV[2], 1, ARGV[3]})
if taken.err then
  if string.find(taken.err, 'UNKNOWN_CLIENT', 1, true) then return {'unknown', 0} end
  return taken
end
if taken[1] then return {'taken', 0} end
local next_free = redis.call('zrange', KEYS[3], 0, 0, 'withscores')
return {'wait', next_free[2] and math.max(1, next_free[2] - now_ms) or 1}
`,
}

/**
 * client, cap, quietMs, mayFallBack (0 or 1), version -> `ready`; or `quiet`, ms for which nothing is sent now, because what was sent
 * before is not known here.
 *
 * A Redis that was started again has forgotten nothing that it has told us where it keeps an append-only file: it writes that before it answers.
 */
export const BEGIN: Script = {
  lua: `${NOW}
${asFunction('init')}
${asFunction('register_client')}
local run = ${RUN}
local quiet_ms = 0
if redis.call('hget', KEYS[1], 'run') ~= run then
  local is_new = redis.call('exists', KEYS[1]) == 0
  local keeps_all = string.find(redis.call('info', 'persistence'), 'aof_enabled:1', 1, true)
  local was_done_without = redis.call('hget', KEYS[1], 'may_fall_back') == '1'
  init({now_ms, ARGV[1], 0, ARGV[5], 'id', KEYS[10], 'version', ARGV[5], 'maxConcurrent', ARGV[2], 'minTime', 0,
    'highWater', '', 'strategy', 1, 'penalty', '', 'reservoir', '', 'reservoirRefreshInterval', '', 'reservoirRefreshAmount', '',
    'reservoirIncreaseInterval', '', 'reservoirIncreaseAmount', '', 'reservoirIncreaseMaximum', '',
    'groupTimeout', '', 'clientTimeout', 3600000})
  if is_new or not keeps_all or was_done_without then
    quiet_ms = math.max(tonumber(ARGV[3]), redis.call('pttl', KEYS[9]))
    redis.call('set', KEYS[9], 1, 'px', quiet_ms)
  end
  redis.call('hset', KEYS[1], 'run', run)
end
redis.call('hset', KEYS[1], 'maxConcurrent', ARGV[2])
if ARGV[4] == '1' then redis.call('hset', KEYS[1], 'may_fall_back', 1) end
register_client({now_ms, ARGV[1], 0})
if quiet_ms > 0 then return {'quiet', quiet_ms} end
return {'ready', 0}
`,
}

/** index, ms from now at which it is free: earlier than it would be, never later. Says nothing. */
export const HOLD: Script = {
  lua: `${NOW}
local until_ms = redis.call('zscore', KEYS[3], ARGV[1])
if until_ms then redis.call('zadd', KEYS[3], math.min(until_ms, now_ms + ARGV[2]), ARGV[1]) end
return {'held', 0}
`,
}

/** ms for which nothing is sent. A longer freeze stays. */
export const FREEZE: Script = {
  lua: `
if redis.call('pttl', KEYS[9]) < tonumber(ARGV[1]) then redis.call('set', KEYS[9], 1, 'px', ARGV[1]) end
return {'frozen', 0}
`,
}

/** All that the scripts of an account touch. The braces keep it together in a cluster. */
export const keysOf = (name: string): readonly string[] => {
  const id = `{${name}}`
  return [...allKeys(id), `b_${id}_frozen`, id]
}
