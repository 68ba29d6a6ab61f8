/** Opens the shared cap of an account from its settings. Connects when the first slot is needed. */
import { createHash } from 'node:crypto'
import { type CapOwner, capKey } from '../../../base/cap-owner.js'
import type { Rate, SharedRate } from '../../../base/network.js'
import type { SlotTiming } from '../slot-timing.js'
import { connectRedis } from './redis.js'
import { createSharedCap, type SharedCap, type SharedCapOptions } from './shared-cap.js'

interface SharedCapSettings extends Pick<SharedCapOptions, 'account' | 'clock' | 'log'> {
  /** The owner of the cap: the same for all processes that share it, and only for those. */
  readonly owner: CapOwner
  readonly rate: Pick<Rate, 'requests'>
  readonly shared?: SharedRate | null
}

/** Hexadecimal digits of the digest: keys of two accounts differ, and do not show which account it is. */
const DIGEST_LENGTH = 32

/** Undefined for a cap that is not shared. */
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
