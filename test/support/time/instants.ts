/** Instants of the model: times are given as minutes of one night of the server's clock, so that a test reads like a story. */
import { type Instant, parseInstant } from '../../../src/model/instant.js'

/** Minutes after the first of March 2026, 00:00 UTC, on the server's clock. */
export const minute = (minutes: number): Instant => instantOf('2026-03-01T00:00:00Z') + micros(minutes)
const micros = (minutes: number): Instant => BigInt(Math.round(minutes * 60_000_000))

/** An hour of a day of March 2026, UTC. */
export const hourOf = (day: number, hour = 2): Instant => minute((day - 1) * 1440 + hour * 60)

/** A text that is certainly an instant. */
export const instantOf = (text: string): Instant => {
  const instant = parseInstant(text)
  if (instant === null) throw new Error(`${text} is not an instant`)
  return instant
}
