/** What a 429 changes in the pace, told to people, and to the next run where that is of use to it. */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Where } from '../errors.js'
import type { AdaptivePace } from './adaptive-pace.js'
import type { PaceMemory } from './pace-memory.js'

interface Sender {
  readonly account: string
  readonly rate: { readonly requests: number; readonly perMs: number }
  readonly clock: Clock
  readonly log: Log
}

interface Refused {
  readonly pace: AdaptivePace
  readonly memory: PaceMemory
  readonly freezeMs: number
  readonly where: Where
}

/** A 429 although no window that the server can look at holds more than the cap: `adaptive-pace` says what that means. */
export const slowDown = (
  { account, rate, clock, log }: Sender,
  { pace, memory, freezeMs, where }: Refused,
): void => {
  const change = pace.refused(clock.monotonicMs(), freezeMs)
  const fields = { account, request: where.request, intervalMs: Math.ceil(change.intervalMs) }
  if (change.kind === 'slower') {
    log.info(fields, 'even requests are refused too, so others spend of the cap: requests are farther apart')
    if (change.refutes) memory.forget()
    return
  }
  const cause = CAUSES[change.isCounter ? 'counter' : 'others']
  log.warn(fields, `refused (429) within the cap: ${cause}; requests are evenly spaced from now on`)
  if (change.isCounter) memory.remember(rate, clock.nowMs())
}

const CAUSES = {
  counter: 'the API counts more strictly than in windows, or others spend of the cap',
  others: 'others spend of the cap, or it is lower than rate_limit',
}
