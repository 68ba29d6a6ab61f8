/** Charts that stand in a cell of a table, beside the same numbers as text. */
import { pairs } from 'd3-array'
import type { Instant } from '../../../model/instant.js'
import type { Formats } from '../formats.js'
import type { DayRow } from '../queries/survey.js'
import { LAST_DAYS, type ReportRows } from '../read.js'
import { barsPath, dayTicks, type Point, percent } from './frame.js'

/**
 * Complete interviews gained on each of the last days. Unknown days show no gain, and the next known day gets the gain of all of them.
 * Weeks between reconstructed days are not added up.
 */
export const Sparkline = ({ days }: { readonly days: readonly DayRow[] }) => {
  const last = days.at(-1)
  if (last === undefined || days.length < 2) return null
  const first = last.day - LAST_DAYS
  const gains = pairs(days)
    .filter(([before, { day }]) => !before.is_reconstructed || day - before.day === 1)
    .map(([before, { day, interviews_count }]): Point => {
      return [day - first, Math.max(0, interviews_count - before.interviews_count)]
    })
    .filter(([x]) => x >= 1)
  const max = Math.max(1, ...gains.map(([, y]) => y))
  return (
    <svg
      class="spark"
      viewBox={`0 ${-max} ${LAST_DAYS + 1} ${max}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={barsPath(gains)} />
    </svg>
  )
}

/** How much of a target is reached. The cell has the number as text. */
export const Bar = ({ rate }: { readonly rate: number | null }) => (
  <progress aria-hidden="true" value={Math.round(Math.min(1, Math.max(0, rate ?? 0)) * 100) / 100} />
)

/** The span of a status timeline, in hours since 1970. */
interface Span {
  readonly from: number
  readonly to: number
}

const HOUR_MICROS = 3_600_000_000n

const hourOf = (at: Instant): number => Number(at / HOUR_MICROS)

/** Each strip ends a day after the newest reading, because a status that began today would have no width. */
export const spanOf = (since: readonly Instant[], now: Instant, daysMax: number): Span => {
  const end = hourOf(now)
  const first = Math.min(end - 24, ...since.map(hourOf))
  return { from: Math.max(first, end - daysMax * 24), to: end + 24 }
}

interface StripProps {
  readonly periods: ReportRows['timeline']
  readonly now: Instant
  readonly span: Span
}

/** The statuses of a survey. The height of a segment differs as well as its colour. */
export const StatusStrip = ({ periods, now, span: { from, to } }: StripProps) => {
  const x = (hour: number): number => Math.max(0, Math.min(to, hour) - from)
  const end = hourOf(now) + 24
  return (
    <svg class="strip" viewBox={`0 0 ${to - from} 10`} preserveAspectRatio="none" aria-hidden="true">
      {periods.map(({ status, since, until }) => {
        const height = STATUS_HEIGHTS.get(status) ?? 4
        const start = x(hourOf(since))
        return (
          <path
            class={status}
            d={`M${start} ${10 - height}H${x(until === null ? end : hourOf(until))}V10H${start}`}
          />
        )
      })}
    </svg>
  )
}

/** A label further right would run into the next column. */
const AXIS_SHARE_MAX = 0.8

/** The days of all strips, above them. */
export const StripAxis = ({
  span: { from, to },
  formats,
}: {
  readonly span: Span
  readonly formats: Formats
}) => (
  <svg
    class="axis"
    role="img"
    aria-label={`Days from ${formats.shortDay(Math.ceil(from / 24))} to ${formats.shortDay(Math.floor(to / 24))}`}
  >
    {dayTicks(Math.floor(from / 24), Math.ceil(to / 24))
      .map((day) => ({ day, share: (day * 24 - from) / (to - from) }))
      .filter(({ share }) => share >= 0 && share <= AXIS_SHARE_MAX)
      .map(({ day, share }) => (
        <>
          <line x1={percent(share)} x2={percent(share)} y1="25%" y2="100%" />
          <text x={percent(share)} dx="4" y="1em">
            {formats.shortDay(day)}
          </text>
        </>
      ))}
  </svg>
)

const STATUS_HEIGHTS: ReadonlyMap<string, number> = new Map([
  ['draft', 2],
  ['user_demo', 2],
  ['pending', 5],
  ['fieldwork', 10],
  ['deviating_from_specs', 10],
  ['data_processing', 5],
  ['complete', 2],
])
