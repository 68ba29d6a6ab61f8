/**
 * The curve of complete interviews, with the target, the straight line that reaches it on the due date, and the forecast: a dashed line to
 * the expected day, and the range around it.
 */
import type { Formats } from '../formats.js'
import type { DayRow, SurveyRow } from '../queries/survey.js'
import { ChartFrame, dayNumber, left, linePath, type Point, pair, top } from './frame.js'

/** The forecast gets at most three fifths of the width, but always room for this many days. */
const FORECAST_DAYS_MIN = 14

interface ChartProps {
  readonly survey: SurveyRow
  readonly days: readonly DayRow[]
  readonly formats: Formats
}

export const CompletesChart = ({ survey, days, formats }: ChartProps) => {
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return null
  const [from, now] = [first.day, last.day]
  const { sample_size: target, expected_on, expected_from, expected_to } = survey
  const reached = last.interviews_count
  const isForecast = expected_on !== null && target !== null && reached < target
  const horizon = now + Math.max(FORECAST_DAYS_MIN, 1.5 * (now - from))
  const latest = expected_from === null ? expected_on : expected_to
  const end = isForecast ? Math.min(horizon, latest === null ? horizon : dayNumber(latest)) : now
  const to = Math.ceil(Math.max(end, now + (now - from) / 50, from + 1))
  const max = Math.max(1, target ?? 0, ...days.map((day) => day.interviews_count)) * 1.12
  const frame = { from, to, max: Math.ceil(max) }
  const pointOf = (day: DayRow): Point => [day.day - from, day.interviews_count]
  const observed = days.filter((day) => !day.is_reconstructed)
  // The days up to the first observed day; none if the first day is observed.
  const reconstructed = days.slice(0, 1 + days.length - observed.length).map(pointOf)
  const before = reconstructed.length > 1 ? [linePath(reconstructed)] : []
  const x = (day: string): number => dayNumber(day) - from
  const start = `M${pair(now - from, -reached)}`
  // The range reaches the target between two days. Without a last day it is open to the right.
  const coneEnd = expected_to === null ? `H${to - from}V${-reached}` : `H${x(expected_to)}`
  const plan = planOf(survey, from)
  const hasTarget = target !== null && target > 0
  const label = `Complete interviews from ${formats.day(first.day)} to ${formats.day(now)}: from ${formats.count(first.interviews_count)} to ${formats.count(reached)}`
  const legend = [
    ...(hasTarget ? [['target', 'target']] : []),
    ...plan.map(() => ['plan', 'straight to the due date']),
    ...(isForecast ? [['forecast', 'if this pace goes on']] : []),
    ...(isForecast && expected_from !== null ? [['cone', '8 of 10 that reach it']] : []),
    ['line', 'complete interviews'],
    ...before.map(() => ['reconstructed', 'reconstructed from today’s statuses']),
  ]
  return (
    <>
      <ChartFrame
        frame={frame}
        label={label}
        bands={['complete interviews']}
        formats={formats}
        over={
          <>
            {hasTarget && (
              <text class="mark" x="100%" y={top(frame, target)}>
                Target {formats.count(target)}
              </text>
            )}
            <text
              class={now - from > (to - from) / 2 ? 'mark now' : 'now'}
              x={left(frame, now)}
              y={top(frame, reached)}
            >
              {formats.count(reached)}
            </text>
          </>
        }
      >
        {hasTarget && <path class="target" d={`M${pair(0, -target)}h${to - from}`} />}
        {plan.map((d) => (
          <path class="plan" d={d} />
        ))}
        {isForecast && expected_from !== null && (
          <path class="cone" d={`${start}L${pair(x(expected_from), -target)}${coneEnd}z`} />
        )}
        {isForecast && <path class="forecast" d={`${start}L${pair(x(expected_on), -target)}`} />}
        <path class="line" d={linePath(observed.map(pointOf))} />
        {before.map((d) => (
          <path class="reconstructed" d={d} />
        ))}
        <path class="dot" d={`${start}h0`} />
      </ChartFrame>
      <ul class="legend">
        {legend.map(([name, words]) => (
          <li>
            <i class={name} />
            {words}
          </li>
        ))}
      </ul>
    </>
  )
}

/** The line of `expected_by_today`: from the beginning of the first day to the end of the due date. The frame cuts what is beside it. */
const planOf = (survey: SurveyRow, from: number): readonly string[] => {
  const { opened_on, due_on, expected_by_today, sample_size: target } = survey
  if (opened_on === null || due_on === null || expected_by_today === null || target === null) return []
  return [`M${pair(dayNumber(opened_on) - 1 - from, 0)}L${pair(dayNumber(due_on) - from, -target)}`]
}
