/** The slots of one process while the Redis of the shared cap is away: a part of the cap, held like other slots. */
import type { Clock } from '../../../base/clock.js'

export interface LocalFallback {
  /** A slot, or how long to wait before the next call, milliseconds. */
  take(): LocalSlot | number
}

export interface LocalSlot {
  /** Holds the slot for so many milliseconds from now on. */
  hold(durationMs: number): void
}

/** How often to check again while the end of every hold is unknown. */
const LOOK_AGAIN_MS = 100

export const createLocalFallback = (slots: number, clock: Clock): LocalFallback => {
  /** Until when, on the monotonic clock. */
  const held = new Map<LocalSlot, number>()
  return {
    take: () => {
      const nowMs = clock.monotonicMs()
      for (const [slot, untilMs] of held) if (untilMs <= nowMs) held.delete(slot)
      if (held.size >= slots) {
        const nextMs = Math.min(...held.values()) - nowMs
        return Number.isFinite(nextMs) ? Math.max(1, nextMs) : LOOK_AGAIN_MS
      }
      const slot: LocalSlot = {
        hold: (durationMs) => held.set(slot, clock.monotonicMs() + durationMs),
      }
      held.set(slot, Number.POSITIVE_INFINITY)
      return slot
    },
  }
}
