/** How long a lease lives, and how long its holder may still rely on it. */
import type { Clock } from '../../base/clock.js'

/** Another run takes a lease over after watching it unchanged for so long. */
export const LEASE_MS = 60_000
export const RENEW_EVERY_MS = LEASE_MS / 3
/** The holder stops so long before the lease ends: clocks of two machines may run at a different speed. */
const MARGIN_MS = 5_000

/** A moment on both clocks of this machine. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export const now = (clock: Clock): Moment => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() })

/**
 * For how long the lease is safe, milliseconds, at most 0 when it has ended. `renewedAt` is the moment before the last successful
 * renewal was sent. A suspended machine stops the monotonic clock, so the wall clock counts too. If the wall clock jumps ahead, the run
 * ends early, and nothing else happens.
 */
export const safeForMs = (renewedAt: Moment, at: Moment): number => {
  const passedMs = Math.max(at.monotonicMs - renewedAt.monotonicMs, at.wallMs - renewedAt.wallMs)
  return LEASE_MS - MARGIN_MS - passedMs
}
