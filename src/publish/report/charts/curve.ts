/** The curve of a survey: chosen days with their last observation, which holds until the next one. */
import type { DayRow } from '../rows.js'
import { EARLIER_POINTS, LAST_DAYS } from '../thinned-days.js'

/** `rows` of one survey, in the order of days. `lastDay` is the day of its last reading. */
export const curveOf = (rows: readonly DayRow[], lastDay: number): readonly DayRow[] => {
  const [first] = rows
  if (first === undefined) return []
  const step = Math.max(1, Math.floor((lastDay - first.day - LAST_DAYS) / EARLIER_POINTS))
  const curve: DayRow[] = []
  for (const row of rows) {
    const before = curve.at(-1)
    const gap = lastDay - row.day < LAST_DAYS ? 1 : step
    // Nothing was observed in between, so the curve is level until one step before the next observation.
    if (before !== undefined && row.day - before.day > gap) curve.push({ ...before, day: row.day - gap })
    curve.push(row)
  }
  const last = curve.at(-1)
  return last === undefined || last.day >= lastDay ? curve : [...curve, { ...last, day: lastDay }]
}
