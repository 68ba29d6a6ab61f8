/**
 * How long a request holds its slot. This is the proof of the cap: the server counts a request before it answers. A slot is used again one
 * window after the response headers at the earliest. So no window of the server has two requests of one slot, and there are only as many
 * slots as the cap allows.
 */
export interface SlotTiming {
  readonly perMs: number
  readonly requestTimeoutMs: number
}

/** Timers of Node may fire a millisecond early, and clocks are slewed by up to 30 ms a minute. */
const HOLD_MARGIN_MS = 50

/** Milliseconds from the arrival of the response headers. */
export const holdAfterAnswerMs = ({ perMs }: SlotTiming): number => perMs + HOLD_MARGIN_MS

/**
 * Milliseconds from a timeout or a reset. Whether and when the server counted the request is unknown: we assume that the server counts it
 * within one more request timeout.
 */
export const holdAfterLossMs = (timing: SlotTiming): number =>
  timing.requestTimeoutMs + holdAfterAnswerMs(timing)
