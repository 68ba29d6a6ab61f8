/** The slots of one process while the Redis that shares the cap is away: a part of the cap, held like any other. */
import type { Clock } from '../../../base/clock.js'

export interface LocalFallback {
  /** A slot of its own, or how long to wait before asking again, milliseconds. */
  take(): LocalSlot | number
}

export interface LocalSlot {
  /** It is free so many milliseconds from now on; until then it is not. */
  hold(durationMs: number): void
}

/** How often to look again where it is not known when a slot will be free. */
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
