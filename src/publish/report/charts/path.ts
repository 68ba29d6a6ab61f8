/**
 * Paths in the units of the data: x in days, y in interviews. The SVG stretches them to its size, so a path holds the exact numbers,
 * the script of the page can read them back, and relative steps are short: half the bytes of absolute pixels.
 */

export type Point = readonly [x: number, y: number]

/** The y axis of SVG points down. Coordinates are whole numbers. */
export const linePath = (points: readonly Point[]): string => {
  const [first, ...rest] = points
  if (first === undefined) return ''
  let [x, y] = first
  const steps = rest.map(([nextX, nextY]) => {
    const step = pair(nextX - x, y - nextY)
    ;[x, y] = [nextX, nextY]
    return step
  })
  return `M${pair(first[0], -first[1])}${steps.length === 0 ? 'h0' : `l${joined(steps)}`}`
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

/** A minus sign separates two numbers as well as a space does. */
const joined = (steps: readonly string[]): string =>
  steps.reduce((text, step) => (text === '' || step.startsWith('-') ? text + step : `${text} ${step}`), '')
