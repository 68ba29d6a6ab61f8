/**
 * A cap that several processes share through Redis. Before each send, a request takes a slot in Redis, or waits: until another process
 * frees a slot, until a pause of all processes ends, or longer if Redis has no record of recent requests
 * (docs/decisions/cap.md#0022-a-forgetful-redis-pauses-everyone). If Redis itself is away, nothing is sent until every slot that was taken
 * before must have ended. Then the run ends, or goes on with the fallback
 * (docs/decisions/cap.md#0023-a-run-without-its-redis-ends-or-uses-a-fallback).
 */
import { createHash, randomUUID } from 'node:crypto'
import { type CapOwner, capKey } from '../../../base/cap-owner.js'
import { type Clock, sleep } from '../../../base/clock.js'
import { ExpectedError } from '../../../base/errors.js'
import type { Log } from '../../../base/log.js'
import type { Rate, SharedRate } from '../../../base/network.js'
import { throwIfAborted } from '../../../base/signals.js'
import { sharedCapError } from '../../errors.js'
import { holdAfterLossMs, type SlotTiming } from '../slot-timing.js'
import {
  COMMAND_MS_MAX,
  connectRedis,
  type Eviction,
  type RedisConnection,
  RedisRefusal,
  RedisTrouble,
  type Reply,
} from './redis.js'

export interface SharedCapOptions {
  readonly account: string
  readonly owner: CapOwner
  readonly rate: Pick<Rate, 'requests'>
  readonly shared?: SharedRate | null
  readonly clock: Clock
  readonly log: Log
}

/** Connects when the first slot is needed. Undefined for a cap that is not shared. */
export const openSharedCap = (options: SharedCapOptions, timing: SlotTiming): SharedCap | undefined => {
  const { owner, shared } = options
  if (shared === undefined || shared === null) return undefined
  return new SharedCap({ ...options, timing, fallback: shared.fallback, redis: redisOf(owner, shared) })
}

const redisOf = (owner: CapOwner, { url }: SharedRate): RedisConnection => {
  const digest = createHash('sha256').update(capKey(owner)).digest('hex').slice(0, DIGEST_LENGTH)
  return connectRedis(url, `fieldwork-sync-${digest}`)
}

/** Hexadecimal digits of the digest in the key. Keys of two accounts differ, and do not reveal the account. */
const DIGEST_LENGTH = 32

/** A slot that this process has taken for one request. */
export interface Claim {
  /** Whether the claim is young enough to be used; checked right before the send. */
  isFresh(): boolean
  /** Holds the slot for `durationMs` from now, and no longer. With 0 the slot is returned. */
  hold(durationMs: number): void
}

/** The longest time from the request for a slot to the send. */
const FRESH_MS = COMMAND_MS_MAX + 1_000
/** The clock of Redis may be stepped by this much, in either direction, during the life of a claim. */
const CLOCK_SKEW_MS = 1_000
/** The longest time between two checks for a free slot, or for the return of Redis. */
const LOOK_AGAIN_MS = 2_000
const RETRY_MS = 250

/** The time from a claim until its request can no longer count, whatever its outcome, milliseconds. */
export const claimLifeMs = (timing: SlotTiming): number =>
  FRESH_MS + timing.requestTimeoutMs + holdAfterLossMs(timing) + 2 * CLOCK_SKEW_MS

interface OpenSharedCap extends SharedCapOptions {
  readonly timing: SlotTiming
  /** Slots of this process while Redis is away; null: the run ends. */
  readonly fallback: number | null
  readonly redis: RedisConnection
}

export class SharedCap {
  readonly #options: OpenSharedCap
  readonly #lifeMs: number
  readonly #local: ReturnType<typeof createLocalFallback> | null
  readonly #underWay = new Set<Promise<unknown>>()
  #wasThere = false
  /** When Redis became unreachable, monotonic clock; null while it answers. */
  #awaySince: number | null = null
  #isLocal = false
  #hasBegun = false
  #knowsOfPause = false
  /** How often Redis had no record since this process last took a slot. */
  #losses = 0
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(options: OpenSharedCap) {
    const { fallback, timing, clock } = options
    this.#options = options
    this.#lifeMs = claimLifeMs(timing)
    this.#local = fallback === null ? null : createLocalFallback(fallback, clock)
  }

  /** Rejects with an error `shared_cap_unreachable`, which ends the run, or with the signal's reason. */
  async claim(signal: AbortSignal): Promise<Claim> {
    const { clock } = this.#options
    for (;;) {
      throwIfAborted(signal)
      const claim = await this.#ask().catch((error: unknown) => this.#away(error))
      if (typeof claim !== 'number') return claim
      if (claim > 0) await sleep(clock, Math.min(claim, LOOK_AGAIN_MS), signal)
    }
  }

  /** No process sends for `durationMs`. */
  pause(durationMs: number): void {
    this.#knowsOfPause = true
    this.#inBackground(this.#options.redis.run(['pause', Math.ceil(durationMs)]))
  }

  /** Slots in Redis stay held as long as necessary, without this process. */
  async close(): Promise<void> {
    await Promise.all(this.#underWay)
    await this.#options.redis.close()
  }

  /** A claim, or how long to wait before the next attempt, milliseconds. Rejects with a `RedisTrouble`. */
  async #ask(): Promise<Claim | number> {
    const { account, clock, log, redis, rate } = this.#options
    const askedAt = clock.monotonicMs()
    if (this.#isLocal && askedAt - this.#lookedAt < LOOK_AGAIN_MS) return this.#claimLocally(askedAt)
    if (this.#isLocal) await this.#comeBack()
    const id = randomUUID()
    const isFirst = this.#hasBegun ? 0 : 1
    const eviction = this.#hasBegun ? null : await redis.eviction()
    const [said, ms] = await redis.run(['take', id, this.#lifeMs, this.#quietMs(), rate.requests, isFirst])
    this.#there()
    if (eviction !== null && !this.#hasBegun && evictsOurs(eviction))
      log.warn({ account, redis: redis.address, policy: eviction.policy }, EVICTING)
    this.#hasBegun = true
    if (said === 'taken') {
      this.#knowsOfPause = false
      this.#losses = 0
      return this.#claimOf(askedAt, (held) => this.#inBackground(redis.run(['hold', id, Math.ceil(held)])))
    }
    if (said === 'unknown') this.#losses += 1
    if (this.#losses >= LOSSES_MAX) throw sharedCapError(account, redis.address, FORGETS)
    this.#reportPause(said, ms)
    return ms
  }

  #claimLocally(askedAt: number): Claim | number {
    const slot = this.#local?.take() ?? LOOK_AGAIN_MS
    return typeof slot === 'number' ? slot : this.#claimOf(askedAt, slot.hold)
  }

  #claimOf(askedAt: number, hold: Claim['hold']): Claim {
    const { clock } = this.#options
    return { isFresh: () => clock.monotonicMs() - askedAt <= FRESH_MS, hold }
  }

  /** Redis answers again. Its slots are used when no request that processes sent by their fallback can count any more. */
  async #comeBack(): Promise<void> {
    const { redis, account, log } = this.#options
    this.#lookedAt = this.#options.clock.monotonicMs()
    await redis.run(['pause', this.#quietMs()])
    this.#isLocal = false
    this.#knowsOfPause = true
    this.#there()
    const fields = { account, redis: redis.address, waitMs: this.#quietMs() }
    log.warn(fields, 'Redis is back: the cap is shared again')
  }

  #quietMs(): number {
    return this.#lifeMs + LOOK_AGAIN_MS + FRESH_MS
  }

  /** Reports each pause once, so that a wait caused by another process does not look like a hanging run. */
  #reportPause(said: Reply[0], waitMs: number): void {
    const { account, redis, log } = this.#options
    const fields = { account, redis: redis.address, waitMs }
    if (said === 'unknown') log.warn(fields, FORGETFUL)
    else if (said === 'paused' && !this.#knowsOfPause)
      log.warn(fields, 'all processes that share the cap are paused')
    this.#knowsOfPause = said !== 'wait'
  }

  #there(): void {
    this.#wasThere = true
    this.#awaySince = null
  }

  /** How long to wait before the next attempt, milliseconds. Throws an error `shared_cap_unreachable`, and any error that is no `RedisTrouble`. */
  #away(trouble: unknown): number {
    if (!(trouble instanceof RedisTrouble)) throw trouble
    const { account, clock, log, redis, fallback, timing } = this.#options
    if (trouble instanceof RedisRefusal) throw sharedCapError(account, redis.address, trouble.message)
    if (this.#isLocal) return 0
    const nowMs = clock.monotonicMs()
    const isFirst = this.#awaySince === null
    this.#awaySince ??= nowMs
    const awayMs = nowMs - this.#awaySince
    // A Redis that was reached before may be restarting, so the run waits as long as for one request.
    if (fallback === null && (!this.#wasThere || awayMs >= timing.requestTimeoutMs)) {
      throw sharedCapError(account, redis.address, trouble.message)
    }
    const fields = { account, redis: redis.address, problem: trouble.message }
    if (isFirst) log.warn(fields, 'the Redis of the shared cap cannot be reached: nothing is sent meanwhile')
    if (fallback === null || awayMs < this.#quietMs()) return RETRY_MS
    this.#isLocal = true
    this.#lookedAt = nowMs
    log.warn({ ...fields, fallback }, 'Redis is still away: this process goes on with its fallback')
    return 0
  }

  /** A failure of this work only costs time: the slot stays held for its longest time. */
  #inBackground(work: Promise<unknown>): void {
    const { account, log } = this.#options
    const watched = work
      .catch((error: unknown) => {
        if (!(error instanceof RedisTrouble)) throw error
        log.debug({ account, problem: error.message }, 'Redis did not get a command')
      })
      .finally(() => this.#underWay.delete(watched))
    this.#underWay.add(watched)
  }
}

/** A Redis that loses its record again and again would make the run wait for ever. After this many losses without a slot, the run ends. */
const LOSSES_MAX = 3
const FORGETS = `it lost the record of recent requests ${LOSSES_MAX} times, as with too little memory or the wrong maxmemory-policy (use noeviction)`

/** Other policies evict only keys with an expiration, and ours has none. */
const evictsAnything = (policy: string): boolean => policy.startsWith('allkeys-')
const evictsOurs = ({ policy, hasLimit }: Eviction): boolean => hasLimit && evictsAnything(policy)
const EVICTING =
  'the Redis of the shared cap may evict its record, and then all processes pause: set its maxmemory-policy to noeviction'

interface CheckSharedCap {
  readonly account: string
  readonly owner: CapOwner
  readonly shared: SharedRate
}

/** Says, for people, whether the Redis of a shared cap may evict its record. Throws `shared_cap_unreachable` or `shared_cap_evicts`. */
export const checkSharedCap = async ({ account, owner, shared }: CheckSharedCap): Promise<string> => {
  const redis = redisOf(owner, shared)
  try {
    const eviction = await redis.eviction()
    const policy = `its maxmemory-policy is ${eviction.policy}`
    if (evictsOurs(eviction))
      throw new ExpectedError(
        'shared_cap_evicts',
        `${redis.address} may evict the record of recent requests, and then all processes pause: ${policy}; set it to noeviction`,
      )
    const why = evictsAnything(eviction.policy) ? ', but it has no maxmemory' : ''
    return `${redis.address} keeps its record: ${policy}${why}`
  } catch (error) {
    if (!(error instanceof RedisTrouble)) throw error
    if (shared.fallback === null || error instanceof RedisRefusal)
      throw sharedCapError(account, redis.address, error.message)
    throw new ExpectedError(
      'shared_cap_unreachable',
      `${redis.address} cannot be used: ${error.message}; a run would go on with its fallback of ${shared.fallback} requests per window`,
    )
  } finally {
    await redis.close()
  }
}

const FORGETFUL = 'Redis has no record of recent requests: all processes pause until those no longer count'

// The slots of one process while the Redis of the shared cap is away: a part of the cap, held like other slots.

type LocalSlot = Pick<Claim, 'hold'>

/** The time between two checks while the end of every hold is unknown. */
const LOOK_AGAIN_LOCALLY_MS = 100

export const createLocalFallback = (slots: number, clock: Clock) => {
  /** The end of each hold, monotonic clock. */
  const held = new Map<LocalSlot, number>()
  return {
    /** A slot, or how long to wait before the next call, milliseconds. */
    take: (): LocalSlot | number => {
      const nowMs = clock.monotonicMs()
      for (const [slot, untilMs] of held) if (untilMs <= nowMs) held.delete(slot)
      if (held.size >= slots) {
        const nextMs = Math.min(...held.values()) - nowMs
        return Number.isFinite(nextMs) ? Math.max(1, nextMs) : LOOK_AGAIN_LOCALLY_MS
      }
      const slot: LocalSlot = { hold: (ms) => held.set(slot, clock.monotonicMs() + ms) }
      held.set(slot, Number.POSITIVE_INFINITY)
      return slot
    },
  }
}
