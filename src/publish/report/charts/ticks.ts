/** Where the grid lines of the axes are. */
import { ticks } from 'd3-array'
import { utcTicks } from 'd3-time'

const DAY_MS = 86_400_000

/** `1970-01-02` is 1. */
export const dayNumber = (day: string): number => Date.parse(day) / DAY_MS

/** Round numbers from 0 to `max`, without 0. */
export const countTicks = (max: number): readonly number[] => ticks(0, max, 3).filter((tick) => tick > 0)

/** Round days, as numbers of days. */
export const dayTicks = (from: number, to: number): readonly number[] => [
  ...new Set(
    utcTicks(new Date(from * DAY_MS), new Date(to * DAY_MS), 4).map((at) =>
      Math.floor(at.getTime() / DAY_MS),
    ),
  ),
]
