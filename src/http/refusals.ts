/**
 * Decides what follows a 429. Only a 429 to a request that was sent after the last pause began is a new refusal. The other
 * requests of the same burst were already in flight, and must not pause the account a second time.
 */

/** By default the run ends instead of a fifth pause in a row without a success. */
const PAUSES_IN_A_ROW_MAX = 5
/** A `Retry-After` of 0, or of a date just past, still means "not now". */
const PAUSE_MS_MIN = 1_000
/** A longer `Retry-After` ends the run: the next one is scheduled anyway. */
export const RETRY_AFTER_MS_MAX = 3_600_000

type RefusalVerdict =
  /** The 429 belongs to a pause that has begun already. */
  | { readonly kind: 'join' }
  | { readonly kind: 'pause'; readonly durationMs: number }
  | { readonly kind: 'end'; readonly pauses: number }
  | { readonly kind: 'retry_after_too_long'; readonly retryAfterMs: number }

/**
 * The length of the nth pause in a row (from 1), milliseconds: the `Retry-After`, else one window, doubled with each pause.
 */
export const pauseMs = (nth: number, retryAfterMs: number | null, perMs: number): number =>
  retryAfterMs === null ? perMs * 2 ** (nth - 1) : Math.max(PAUSE_MS_MIN, retryAfterMs)

export interface Refusals {
  /** The number of pauses that have begun. A send remembers it. */
  epoch(): number
  /** A 429 arrived for a request sent in epoch `sentIn`. */
  refused(sentIn: number, retryAfterMs: number | null): RefusalVerdict
  /** A request sent in epoch `sentIn` succeeded. */
  succeeded(sentIn: number): void
}

export const createRefusals = (perMs: number, pausesMax = PAUSES_IN_A_ROW_MAX): Refusals => {
  let epoch = 0
  let lastGoodEpoch = 0
  return {
    epoch: () => epoch,
    succeeded: (sentIn) => {
      lastGoodEpoch = Math.max(lastGoodEpoch, sentIn)
    },
    refused: (sentIn, retryAfterMs) => {
      if (sentIn < epoch) return { kind: 'join' }
      if (retryAfterMs !== null && retryAfterMs > RETRY_AFTER_MS_MAX)
        return { kind: 'retry_after_too_long', retryAfterMs: retryAfterMs }
      epoch += 1
      const nth = epoch - lastGoodEpoch
      if (nth >= pausesMax) return { kind: 'end', pauses: nth }
      return { kind: 'pause', durationMs: pauseMs(nth, retryAfterMs, perMs) }
    },
  }
}
