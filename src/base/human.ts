/** Durations, counts, sizes, tables and wrong values as text for people. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './durations.js'

/** `850 ms`, `42 s`, `2 min 05 s`, `1 h 05 min`, `3 d 4 h`: at most two units, rounded to the smaller unit. */
export const humanDuration = (durationMs: number): string => {
  const ms = Math.max(0, Math.round(durationMs))
  if (ms < SECOND_MS) return `${ms} ms`
  const seconds = Math.round(ms / SECOND_MS)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${twoDigits(seconds % 60)} s`
  const minutes = Math.round(ms / MINUTE_MS)
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} min`
  const hours = Math.round(ms / HOUR_MS)
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

const twoDigits = (count: number): string => String(count).padStart(2, '0')

/** `42 s ago`, `5 min ago`, `3 h ago`, `12 d ago`; `in 3 h` for a time in the future. Whole units, rounded down. */
export const humanAge = (ageMs: number): string => {
  const seconds = Math.floor(Math.abs(ageMs) / SECOND_MS)
  const [count, unit] =
    seconds < 60
      ? [seconds, 's']
      : seconds < 3_600
        ? [seconds / 60, 'min']
        : seconds < 2 * 86_400
          ? [seconds / 3_600, 'h']
          : [seconds / 86_400, 'd']
  const length = `${Math.floor(count)} ${unit}`
  return ageMs < 0 ? `in ${length}` : `${length} ago`
}

/**
 * A text in at most `widthMax` columns. It loses its middle, because similar titles differ at their end. `widthOf` measures a text in
 * columns; without it every character takes one.
 */
export const cutInMiddle = (
  text: string,
  widthMax: number,
  widthOf: (text: string) => number = (one) => Array.from(one).length,
): string => {
  if (widthOf(text) <= widthMax) return text
  if (widthMax < 1) return ''
  const tailMax = Math.ceil((widthMax - 1) / 2)
  // Only this much of a long text is split into characters.
  const near = 8 * widthMax
  const head = fitting(charactersOf(text.slice(0, near)), widthMax - 1 - tailMax, widthOf)
  const tail = fitting(charactersOf(text.slice(-near)).toReversed(), tailMax, widthOf).toReversed()
  return `${head.join('').trimEnd()}…${tail.join('').trimStart()}`
}

/** What a reader takes for one character may be several code points. */
const charactersOf = (text: string): readonly string[] =>
  Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)

const fitting = (
  characters: readonly string[],
  widthMax: number,
  widthOf: (text: string) => number,
): readonly string[] => {
  let width = 0
  const end = characters.findIndex((character) => {
    width += widthOf(character)
    return width > widthMax
  })
  return end === -1 ? characters : characters.slice(0, end)
}

/** `1,234,567` of a whole number. `toLocaleString` would load the tables of all languages, 12 ms of CPU. */
export const humanCount = (count: number): string => String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')

/** `1 survey`, `1,234 surveys` */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${humanCount(count)} ${count === 1 ? one : many}`

/** `512 B`, `1.5 KiB`, `32.0 MiB` */
export const humanBytes = (bytes: number): string => {
  let [value, unit] = [bytes, 'B']
  for (const next of ['KiB', 'MiB', 'GiB', 'TiB']) {
    if (value < 1_024) break
    value /= 1_024
    unit = next
  }
  return unit === 'B' ? `${bytes} B` : `${value.toFixed(1)} ${unit}`
}

/** The length of a rate window: `min`, `h` or `d` for one of these units, otherwise a duration. */
export const humanWindow = (perMs: number): string =>
  perMs === MINUTE_MS ? 'min' : perMs === HOUR_MS ? 'h' : perMs === DAY_MS ? 'd' : humanDuration(perMs)

/** A wrong value as JSON, shortened for a message. Only for values that cannot be secret. */
export const quoted = (value: unknown, charactersMax = 40): string => {
  const text = jsonText(value)
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text
}

/** The JSON text; the type of a value that contains itself, which JSON cannot hold. */
const jsonText = (value: unknown): string => {
  if (typeof value === 'number') return String(value)
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

export const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`)
    .join('')
