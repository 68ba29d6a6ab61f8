/** Moves the world's clock, by the body of `POST /_reference/time`. */
import { z } from 'zod'
import { Refusal } from '../api/refusal.js'
import { moment, text } from '../resources/fields.js'
import { formatUtc, parseIsoDuration, parseIsoTime } from '../time/iso-time.js'
import type { WorldClock } from '../time/world-clock.js'

export const timeSetting = z
  .union([
    z.strictObject({
      advance: text(
        'How far to move forward: an ISO 8601 duration of weeks, days, hours, minutes and seconds',
      ),
    }),
    z.strictObject({ set: moment('The new time, later or earlier') }),
  ])
  .meta({ description: 'How to move the clock', examples: [{ advance: 'PT6H' }] })

export const TIME_HINT = 'send {"advance": "PT6H"} or {"set": "2026-03-01T00:00:00Z"}'

/** Moves `clock` as `body` says, or refuses with 400 and moves nothing. */
export const setTime = (clock: WorldClock, body: unknown): void => {
  const setting = timeSetting.safeParse(body).data
  if (setting === undefined) throw new Refusal(400, TIME_HINT)
  const at = 'set' in setting ? parseIsoTime(setting.set) : advanced(clock, setting.advance)
  if (at === null) {
    throw new Refusal(
      400,
      `${JSON.stringify(setting)}: advance takes an ISO 8601 duration of weeks, days, hours, minutes and seconds, set a date-time with an offset; ${TIME_HINT}`,
    )
  }
  if (clock.set(at)) return
  throw new Refusal(400, `the clock goes from ${formatUtc(clock.earliest)} to ${formatUtc(clock.latest)}`)
}

const advanced = (clock: WorldClock, duration: string): number | null => {
  const by = parseIsoDuration(duration)
  return by === null ? null : clock.now() + by
}
