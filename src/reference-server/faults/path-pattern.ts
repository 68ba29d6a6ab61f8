/**
 * Paths as faults name them: below `/api/v1` or with it, written as in the API document, with `*` (or `{SURVEY_ID}`)
 * for one segment and `**` for any number of them.
 */

const PREFIX = '/api/v1'

/** A pattern, or the path of a request, in pieces. */
type Segments = readonly string[]

/** Null where `text` is no pattern: without a slash in front, or with a star that is only part of a segment. */
export const parsePattern = (text: string): Segments | null => {
  if (!text.startsWith('/')) return null
  const segments = below(text).map((segment) => (isPlaceholder(segment) ? '*' : segment))
  return segments.some((segment) => segment.includes('*') && !/^\*\*?$/.test(segment)) ? null : segments
}

/** Whether the path of a request is one that `pattern` names. Percent-encoding is undone, as the router does. */
export const matchesPath = (pattern: string, path: string): boolean =>
  fits(
    parsePattern(pattern) ?? [],
    below(path).map(decoded),
    (wanted, found) => wanted === '*' || wanted === found,
  )

/** Whether an endpoint's path, such as `/surveys/{SURVEY_ID}/sample_sources`, could be one that `pattern` names. */
export const matchesEndpoint = (pattern: Segments, endpoint: string): boolean =>
  fits(
    pattern,
    below(endpoint),
    (wanted, known) => wanted === '*' || wanted === known || isPlaceholder(known),
  )

const fits = (
  pattern: Segments,
  path: Segments,
  same: (wanted: string, found: string) => boolean,
): boolean => {
  const [wanted, ...others] = pattern
  if (wanted === undefined) return path.length === 0
  const [found, ...rest] = path
  if (wanted === '**') return fits(others, path, same) || (found !== undefined && fits(pattern, rest, same))
  return found !== undefined && same(wanted, found) && fits(others, rest, same)
}

const below = (path: string): Segments =>
  (path === PREFIX || path.startsWith(`${PREFIX}/`) ? path.slice(PREFIX.length) : path).split('/').slice(1)

const isPlaceholder = (segment: string): boolean => /^\{\w+\}$/.test(segment)

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
