/**
 * The frame of a chart: grid lines and labels in the units of the screen, and inside of it the paths, stretched to its size. Labels keep
 * their size on a phone, and lines their width.
 */

import { pairs, ticks } from 'd3-array'
import { utcTicks } from 'd3-time'
import type { ComponentChildren } from 'preact'
import { DAY_MS } from '../../../base/durations.js'
import type { Formats } from '../formats.js'

export interface Frame {
  readonly from: number
  readonly to: number
  readonly max: number
}

export const percent = (value: number): string => `${Math.round(value * 1000) / 10}%`

/** Position of a day from the left. */
export const left = ({ from, to }: Frame, day: number): string =>
  percent((day - from) / Math.max(1, to - from))
/** Position of a number from the top. */
export const top = ({ max }: Frame, value: number): string => percent(1 - value / max)

/** Labels near the edges would be cut. */
const [EDGE_MIN, EDGE_MAX] = [0.03, 0.93]

interface ChartProps {
  readonly frame: Frame
  /** What the chart shows, for people who cannot see it. */
  readonly label: string
  /** Names of the lines, in the order of the paths; the script reads them out. */
  readonly bands: readonly string[]
  readonly formats: Formats
  /** Paths in the units of the data. */
  readonly children: ComponentChildren
  /** Labels on top of the paths. */
  readonly over?: ComponentChildren
}

export const ChartFrame = ({ frame, label, bands, formats, children, over }: ChartProps) => {
  const { from, to, max } = frame
  const width = Math.max(1, to - from)
  const lines = ticks(0, max, 3).filter((tick) => tick > 0)
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

/** `1970-01-02` is 1. */
export const dayNumber = (day: string): number => Date.parse(day) / DAY_MS

/** Round days, as numbers of days. */
export const dayTicks = (from: number, to: number): readonly number[] => {
  const instants = utcTicks(new Date(from * DAY_MS), new Date(to * DAY_MS), 4)
  return [...new Set(instants.map((at) => Math.floor(at.getTime() / DAY_MS)))]
}

/**
 * Paths in the units of the data: x in days, y in interviews. The SVG stretches them to its size, so a path holds the exact numbers,
 * the script of the page can read them back, and relative steps are short: half the bytes of absolute pixels.
 */
export type Point = readonly [x: number, y: number]

/** The y axis of SVG points down. Coordinates are whole numbers. A minus sign separates two numbers as well as a space does. */
export const linePath = (points: readonly Point[]): string => {
  const [first] = points
  if (first === undefined) return ''
  const steps = pairs(points, ([x, y], [nextX, nextY]) => pair(nextX - x, y - nextY))
  const line = steps.length === 0 ? 'h0' : `l${steps.join(' ').replaceAll(' -', '-')}`
  return `M${pair(first[0], -first[1])}${line}`
}

/** The line, closed along the x axis. */
export const areaPath = (points: readonly Point[]): string => {
  const [first] = points
  return first === undefined ? '' : `${linePath(points)}V0H${first[0]}z`
}

/** Bars from the x axis up, one unit wide with a gap. */
export const barsPath = (points: readonly Point[]): string =>
  points
    .filter(([, y]) => y !== 0)
    .map(([x, y]) => `M${x} 0v${-y}`)
    .join('')

export const pair = (x: number, y: number): string => `${x}${y < 0 ? '' : ' '}${y}`
