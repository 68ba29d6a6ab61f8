/**
 * Records of one organization do not write time alike: offsets differ by country and season, and some carry
 * fractions of a second. All of it is valid by the API document, and a client has to survive it.
 */
import { MICROS_PER_MS, MICROS_PER_SECOND, type Micros, type TimeStyle } from '../time/iso-time.js'
import type { Random } from './random.js'

/** How finely a record keeps time, microseconds. Its moments are whole multiples, so that none is shown cut. */
export type Grain = 1 | typeof MICROS_PER_MS | typeof MICROS_PER_SECOND

const OFFSETS_MINUTES = [null, null, null, 0, 0, 60, 120, 330, -480, -210, 765, 840] as const

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
