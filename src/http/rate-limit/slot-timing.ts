/**
 * How long a request keeps its slot. The proof of the cap is here: the server counted a request before it
 * answered, so a slot that is used again no earlier than one window after the answer's headers cannot be
 * counted twice in any window that the server can look at. As many slots as the cap, and the cap holds.
 */
export interface SlotTiming {
  /** The rate window, milliseconds. */
  readonly perMs: number
  readonly requestTimeoutMs: number
}

/** Timers of Node may fire a millisecond early, and clocks are slewed by up to 30 ms a minute. */
const HOLD_MARGIN_MS = 50

/** From the arrival of the response headers on. */
export const holdAfterAnswerMs = ({ perMs }: SlotTiming): number => perMs + HOLD_MARGIN_MS

/**
 * From a timeout or a reset on: whether and when the server counted the request is unknown. It is taken to have
 * done so within one more request timeout.
 */
export const holdAfterLossMs = (timing: SlotTiming): number =>
  timing.requestTimeoutMs + holdAfterAnswerMs(timing)
