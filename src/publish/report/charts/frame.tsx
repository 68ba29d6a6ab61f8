/**
 * The frame of a chart: grid lines and labels in the units of the screen, and inside of it the paths, stretched to its size. Labels keep
 * their size on a phone, and lines their width.
 */
import type { ComponentChildren } from 'preact'
import type { Formats } from '../formats.js'
import { countTicks, dayTicks } from './ticks.js'

export interface Frame {
  readonly from: number
  readonly to: number
  readonly max: number
}

const percent = (value: number): string => `${Math.round(value * 1000) / 10}%`

/** Position of a day from the left. */
export const left = ({ from, to }: Frame, day: number): string =>
  percent((day - from) / Math.max(1, to - from))
/** Position of a number from the top. */
export const top = ({ max }: Frame, value: number): string => percent(1 - value / max)

/** Labels near the edges would be cut. */
const [EDGE_MIN, EDGE_MAX] = [0.03, 0.93]

export const ChartFrame = ({
  frame,
  label,
  bands,
  formats,
  children,
  over,
}: {
  readonly frame: Frame
  /** What the chart shows, for those who do not see it. */
  readonly label: string
  /** Names of the lines, in the order of the paths; the script reads them out. */
  readonly bands: readonly string[]
  readonly formats: Formats
  /** Paths in the units of the data. */
  readonly children: ComponentChildren
  /** Labels on top of them. */
  readonly over?: ComponentChildren
}) => {
  const { from, to, max } = frame
  const width = Math.max(1, to - from)
  const lines = countTicks(max)
  return (
    <svg class="chart" role="img" aria-label={label} data-x={`${from} ${width}`} data-bands={bands.join()}>
      <svg viewBox={`0 ${-max} ${width} ${max}`} preserveAspectRatio="none" role="none">
        <path class="grid" d={lines.map((tick) => `M0-${tick}h${width}`).join('')} />
        {children}
      </svg>
      {lines.map((tick) => (
        <text y={top(frame, tick)}>{formats.count(tick)}</text>
      ))}
      <svg class="x" y="100%" role="none">
        {dayTicks(from, to)
          .filter((day) => (day - from) / width >= EDGE_MIN && (day - from) / width <= EDGE_MAX)
          .map((day) => (
            <text x={left(frame, day)}>{formats.shortDay(day)}</text>
          ))}
      </svg>
      {over}
    </svg>
  )
}
