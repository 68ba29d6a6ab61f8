/** Charts that stand in a cell of a table, beside the same numbers as text. */
import { pairs } from 'd3-array'
import type { DayRow } from '../queries/survey.js'
import { LAST_DAYS, type ReportRows } from '../read.js'
import { barsPath, type Point } from './frame.js'

/** Complete interviews gained on each of the last days. Unknown days gained nothing, and the day after them gets the gain of all. */
export const Sparkline = ({ days }: { readonly days: readonly DayRow[] }) => {
  const last = days.at(-1)
  if (last === undefined || days.length < 2) return null
  const first = last.day - LAST_DAYS
  const gains = pairs(days, (before, { day, interviews_count }): Point => {
    return [day - first, Math.max(0, interviews_count - before.interviews_count)]
  }).filter(([x]) => x >= 1)
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

interface StripProps {
  readonly periods: ReportRows['timeline']
  readonly now: bigint
  readonly days: number
}

const HOUR_MICROS = 3_600_000_000n

/** The statuses of a survey in the last `days` before `now`. The height of a segment differs as well as its colour. */
export const StatusStrip = ({ periods, now, days }: StripProps) => {
  const hours = days * 24
  const start = now - BigInt(hours) * HOUR_MICROS
  const x = (at: bigint): number => Math.max(0, Math.min(hours, Number((at - start) / HOUR_MICROS)))
  return (
    <svg class="strip" viewBox={`0 0 ${hours} 10`} preserveAspectRatio="none" aria-hidden="true">
      {periods.map(({ status, since, until }) => {
        const height = STATUS_HEIGHTS.get(status) ?? 4
        return <path class={status} d={`M${x(since)} ${10 - height}H${x(until ?? now)}V10H${x(since)}`} />
      })}
    </svg>
  )
}

const STATUS_HEIGHTS: ReadonlyMap<string, number> = new Map([
  ['draft', 2],
  ['user_demo', 2],
  ['pending', 5],
  ['fieldwork', 10],
  ['deviating_from_specs', 10],
  ['data_processing', 5],
  ['complete', 2],
])
