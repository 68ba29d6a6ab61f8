/** The slots of the rate window, as many as the cap. A slot is a job of Bottleneck, which ends when the slot is free again. */
import Bottleneck from 'bottleneck'

/**
 * Bottleneck schedules the next job no earlier than the last one plus `minTime`, by the wall clock, even for 0: after the clock was put
 * back by an hour, all jobs waited an hour. With this value the next job is always due.
 */
const NEVER_WAITS = Number.NEGATIVE_INFINITY

export type FreeSlot = () => void

export const createSlots = (cap: number) => {
  const bottleneck = new Bottleneck({ maxConcurrent: cap, minTime: NEVER_WAITS })
  // Bottleneck delays its first job by the wall clock of its construction. This empty job takes that delay. It takes no slot, because the
  // delay is an hour if the clock was put back by an hour; then `close` drops the job.
  bottleneck.schedule({ weight: 0 }, () => Promise.resolve()).catch(whenClosed)
  return {
    /** Resolves when a slot is taken. First come, first served. */
    take: (): Promise<FreeSlot> =>
      new Promise((taken) => {
        bottleneck.schedule(() => new Promise<void>(taken)).catch(whenClosed)
      }),
    /** Requests that still wait get no slot. */
    close: (): void => void bottleneck.stop({ dropWaitingJobs: true }).catch(whenClosed),
  }
}

/** `close` rejects the promises of dropped jobs. */
const whenClosed = (): undefined => undefined
