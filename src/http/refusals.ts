/**
 * What a 429 leads to. Only one that answers a request sent after the last pause began says something new: the
 * others of the same burst were on their way already, and must not pause the account a second time.
 */

/** A fifth pause in a row without one success is not waited out, unless told otherwise: the run ends. */
const PAUSES_IN_A_ROW_MAX = 5
/** The longest pause that is our own choice, in rate windows. */
const PAUSE_WINDOWS_MAX = 10
/** A `Retry-After` of 0 or of a date just past still means "not now". */
const PAUSE_MS_MIN = 1_000
/** A server that wants to be left alone for longer than this ends the run: the next one is scheduled anyway. */
export const RETRY_AFTER_MS_MAX = 3_600_000

type RefusalVerdict =
  /** The pause that this one belongs to has begun already. */
  | { readonly kind: 'join' }
  | { readonly kind: 'pause'; readonly durationMs: number }
  | { readonly kind: 'end'; readonly pauses: number }
  | { readonly kind: 'end_asked'; readonly askedMs: number }

/**
 * The length of the nth pause in a row (from 1): what `Retry-After` asks for, else one window, doubling up to
 * ten. Milliseconds.
 */
export const pauseMs = (nth: number, askedMs: number | null, perMs: number): number =>
  askedMs === null ? perMs * Math.min(PAUSE_WINDOWS_MAX, 2 ** (nth - 1)) : Math.max(PAUSE_MS_MIN, askedMs)

export interface Refusals {
  /** Stamps a send: how many pauses had begun by then. */
  epoch(): number
  /** A 429 arrived for a request sent in epoch `sentIn`. */
  refused(sentIn: number, askedMs: number | null): RefusalVerdict
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
    refused: (sentIn, askedMs) => {
      if (sentIn < epoch) return { kind: 'join' }
      if (askedMs !== null && askedMs > RETRY_AFTER_MS_MAX) return { kind: 'end_asked', askedMs }
      epoch += 1
      const nth = epoch - lastGoodEpoch
      if (nth >= pausesMax) return { kind: 'end', pauses: nth }
      return { kind: 'pause', durationMs: pauseMs(nth, askedMs, perMs) }
    },
  }
}
