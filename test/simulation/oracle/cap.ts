/** P2: the cap, checked in the server's own log. */
import type { Plan } from '../plan.js'
import type { World } from '../world.js'
import type { Violation } from './row-text.js'

/** P2: no window of the server's log holds more requests than the cap allows. */
export const overCap = async (world: World, { world: { rate } }: Plan): Promise<Violation[]> => {
  const times = (await world.arrivals()).map(({ at_ms }) => at_ms)
  for (const [place, at] of times.entries()) {
    const later = times[place + rate.requests]
    if (later !== undefined && later - at < rate.perMs)
      return [
        `P2: ${rate.requests + 1} requests reached the server within ${(later - at).toFixed(1)} ms; the cap is ${rate.requests} in ${rate.perMs} ms`,
      ]
  }
  return []
}
