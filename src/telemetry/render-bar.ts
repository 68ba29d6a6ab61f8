/** The progress bar as a pure function: a state and a width in, one line out, never wider than that. */
import type { BarState } from './bar-state.js'
import { counted, humanCount, humanDuration, humanWindow } from './human.js'

const BAR_COLUMNS = 24

/** One line of at most `columns` characters. What matters least is left out first: the bar, then the requests. */
export const renderBar = (state: BarState, columns: number): string => {
  const wait = waitText(state)
  const head = wait === null ? phaseText(state) : `${phaseText(state)} | ${wait}`
  const kept = [wait === null ? etaText(state) : null, requestsText(state), barText(state)].filter(
    (part): part is string => part !== null,
  )
  while (kept.length > 0 && join(head, kept).length > columns) kept.pop()
  return truncate(join(head, kept), columns)
}

/** How long `requestsLeft` requests take at the cap: what fits into free slots now, then a window at a time. */
export const etaMs = ({ requestsLeft, slotsInUse, rate, frozenForMs }: BarState): number => {
  if (rate === null) return 0
  const waiting = Math.max(0, requestsLeft - Math.max(0, rate.requests - slotsInUse))
  return (waiting / rate.requests) * rate.perMs + (frozenForMs ?? 0)
}

const phaseText = (state: BarState): string => {
  if (state.phase === 'starting') return 'starting'
  if (state.phase === 'publishing') return `publishing ${state.format ?? ''}`.trim()
  if (state.phase === 'listing') {
    const of = state.pages > 0 ? ` of ${humanCount(Math.max(state.page, state.pages))}` : ''
    return `listing page ${humanCount(state.page)}${of}, ${counted(state.surveysListed, 'survey')}`
  }
  const total = state.done + state.left
  return `refreshing ${humanCount(state.done)}/${humanCount(total)} (${percent(state)}%)`
}

const waitText = ({ frozenForMs }: BarState): string | null =>
  frozenForMs === null
    ? null
    : `waiting ${humanDuration(wholeSeconds(frozenForMs))}: the API asked to slow down`

const etaText = (state: BarState): string | null =>
  state.phase !== 'refreshing' || state.rate === null || state.left === 0
    ? null
    : `about ${humanDuration(wholeSeconds(etaMs(state)))} left`

const requestsText = ({ rate, slotsInUse, phase }: BarState): string | null =>
  rate === null || phase === 'publishing'
    ? null
    : `${humanCount(slotsInUse)}/${humanCount(rate.requests)} requests/${humanWindow(rate.perMs)}`

const barText = (state: BarState): string | null => {
  if (state.phase !== 'refreshing') return null
  const filled = Math.floor((percent(state) / 100) * BAR_COLUMNS)
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_COLUMNS - filled)}]`
}

/** Rounded down: 100 % is said when nothing is left, not before. */
const percent = ({ done, left }: BarState): number =>
  done + left === 0 ? 100 : Math.floor((done / (done + left)) * 100)

const wholeSeconds = (durationMs: number): number => Math.ceil(durationMs / 1_000) * 1_000

const join = (head: string, parts: readonly string[]): string => [head, ...parts].join(' | ')

const truncate = (text: string, columns: number): string => {
  if (text.length <= columns) return text
  return columns < 1 ? '' : `${text.slice(0, columns - 1)}…`
}
