/**
 * How long a request holds its slot: the proof of the cap. The server counts a request before it answers, and its slot is used again a
 * window after the response headers at the earliest. So no window of the server holds two requests of one slot, and slots are as many as
 * the cap.
 */
export interface SlotTiming {
  readonly perMs: number
  readonly requestTimeoutMs: number
}

/** Timers of Node may fire a millisecond early, and clocks are slewed by up to 30 ms a minute. */
const HOLD_MARGIN_MS = 50

/** Milliseconds from the arrival of the response headers. */
export const holdAfterAnswerMs = ({ perMs }: SlotTiming): number => perMs + HOLD_MARGIN_MS

/** Milliseconds from a timeout or a reset: the server may count the request until one more request timeout has passed. */
export const holdAfterLossMs = (timing: SlotTiming): number =>
  timing.requestTimeoutMs + holdAfterAnswerMs(timing)
