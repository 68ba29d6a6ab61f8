/**
 * Interviews by status over time, as stacked areas. Each area is drawn down to the axis, the highest first, so that lower areas cover it.
 */
import type { Formats } from '../formats.js'
import { spaced } from '../page/words.js'
import { BANDS, type DayRow } from '../queries/survey.js'
import { areaPath, ChartFrame, type Point } from './frame.js'

const POINTS_MAX = 24

const BAND_NAMES = BANDS.map(([name]) => name)

interface ChartProps {
  readonly days: readonly DayRow[]
  readonly formats: Formats
}

export const StatusChart = ({ days, formats }: ChartProps) => {
  const shown = thinned(days)
  const [first, last] = [shown[0], shown.at(-1)]
  if (first === undefined || last === undefined) return null
  const from = first.day
  const to = Math.max(last.day, from + 1)
  const upTo = (day: DayRow, bands: number): number =>
    BAND_NAMES.slice(0, bands).reduce((sum, band) => sum + day[band], 0)
  const total = Math.max(1, ...shown.map((day) => upTo(day, BAND_NAMES.length)))
  const areas = BAND_NAMES.flatMap((band, index) =>
    shown.some((day) => day[band] > 0)
      ? [{ index: index, d: areaPath(shown.map((day): Point => [day.day - from, upTo(day, index + 1)])) }]
      : [],
  )
  return (
    <ChartFrame
      frame={{ from, to, max: Math.ceil(total * 1.05) }}
      label={`Interviews by status from ${formats.day(first.day)} to ${formats.day(last.day)}; the table has the last numbers`}
      bands={areas.toReversed().map(({ index }) => spaced(BAND_NAMES[index] ?? ''))}
      formats={formats}
    >
      {areas.toReversed().map(({ index, d }) => (
        <path class={`s${index}`} d={d} />
      ))}
    </ChartFrame>
  )
}

/** The last day is always shown. */
const thinned = (days: readonly DayRow[]): readonly DayRow[] => {
  const step = Math.ceil(days.length / POINTS_MAX)
  return days.filter((_, index) => (days.length - 1 - index) % step === 0)
}
