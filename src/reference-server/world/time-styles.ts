/**
 * Records of one organization write time in different styles: offsets differ by country and season, and some have
 * fractions of a second. All styles are valid by the API document, and a client has to read them.
 */
import { MICROS_PER_MS, MICROS_PER_SECOND, type Micros, type TimeStyle } from '../time/iso-time.js'
import type { Random } from './random.js'

/** The resolution of a record's moments, microseconds. Moments are whole multiples, so that none is shown cut off. */
export type Grain = 1 | typeof MICROS_PER_MS | typeof MICROS_PER_SECOND

/**
 * Every offset that is in use somewhere, including summer time. `Z` and `+00:00` come more often. `-00:00` never comes:
 * it is valid in RFC 3339 only, because ISO 8601 has no negative sign for zero.
 */
const OFFSETS_MINUTES = [
  ...([null, null, null, null, null, null, null, null, 0, 0, 0] as const),
  ...([-720, -660, -600, -570, -540, -480, -420, -360, -300, -240, -210, -180, -150, -120, -60] as const),
  ...([60, 120, 180, 210, 240, 270, 300, 330, 345, 360, 390, 420, 480, 525, 540, 570, 600] as const),
  ...([630, 660, 720, 765, 780, 825, 840] as const),
] as const

export const drawGrain = (random: Random): Grain => {
  const draw = random.fraction()
  if (draw < 0.65) return MICROS_PER_SECOND
  return draw < 0.8 ? MICROS_PER_MS : 1
}

export const drawTimeStyle = (random: Random, grain: Grain): TimeStyle => ({
  offsetMinutes: random.pick(OFFSETS_MINUTES),
  fractionDigits: grain === MICROS_PER_SECOND ? 0 : grain === MICROS_PER_MS ? 3 : 6,
})

/** The last moment of this grain at or before `at`. */
export const floorTo = (grain: Grain, at: Micros): Micros => Math.floor(at / grain) * grain
