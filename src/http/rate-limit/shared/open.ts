/** The cap that an account shares with other processes, as its settings say; nothing is connected before it is needed. */
import { createHash } from 'node:crypto'
import { type CapOwner, capKey } from '../../../base/cap-owner.js'
import type { Clock } from '../../../base/clock.js'
import type { Log } from '../../../base/log.js'
import type { Secret } from '../../../base/secret.js'
import type { SlotTiming } from '../slot-timing.js'
import { connectRedis } from './redis.js'
import { createSharedCap, type SharedCap } from './shared-cap.js'

/** A cap that processes share through Redis. */
export interface SharedRate {
  /** May hold a password. */
  readonly url: Secret
  /** Requests of this process in a window while Redis is away; null: then the run ends. */
  readonly fallback: number | null
}

interface SharedCapSettings {
  /** Whose cap it is: the same for all who share it, and for nobody else. */
  readonly owner: CapOwner
  readonly account: string
  readonly rate: { readonly requests: number }
  readonly shared?: SharedRate | null
  readonly clock: Clock
  readonly log: Log
}

/** Hexadecimal digits of the digest: no two accounts meet, and nobody reads which one it is. */
const DIGEST_LENGTH = 32

/** Undefined where nobody else spends of the cap. */
export const openSharedCap = (
  { owner, account, rate, shared, clock, log }: SharedCapSettings,
  timing: SlotTiming,
): SharedCap | undefined => {
  if (shared === undefined || shared === null) return undefined
  const digest = createHash('sha256').update(capKey(owner)).digest('hex').slice(0, DIGEST_LENGTH)
  const redis = connectRedis(shared.url, `fieldwork-sync-${digest}`)
  return createSharedCap({
    account,
    cap: rate.requests,
    timing,
    fallback: shared.fallback,
    redis,
    clock,
    log,
  })
}
