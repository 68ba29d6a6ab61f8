/**
 * Matches paths with the patterns of faults. A pattern is a path as in the API document, with or without `/api/v1`; `*`
 * (or `{SURVEY_ID}`) is one segment and `**` any number of them.
 */
import { API_PREFIX } from '../api/operation.js'

/** A pattern, or the path of a request, split at its slashes. */
type Segments = readonly string[]

/** Null where `text` is no pattern: it has no slash in front, or a star that is only part of a segment. */
export const parsePattern = (text: string): Segments | null => {
  if (!text.startsWith('/')) return null
  const segments = below(text).map((segment) => (isPlaceholder(segment) ? '*' : segment))
  return segments.some((segment) => segment.includes('*') && !/^\*\*?$/.test(segment)) ? null : segments
}

/** Whether `pattern` matches the path of a request. The path is percent-decoded, as the router does. */
export const matchesPath = (pattern: string, path: string): boolean =>
  fits(
    parsePattern(pattern) ?? [],
    below(path).map(decoded),
    (wanted, found) => wanted === '*' || wanted === found,
  )

/** Whether `pattern` can match requests of an endpoint, such as `/surveys/{SURVEY_ID}/sample_sources`. */
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
  (path === API_PREFIX || path.startsWith(`${API_PREFIX}/`) ? path.slice(API_PREFIX.length) : path)
    .split('/')
    .slice(1)

const isPlaceholder = (segment: string): boolean => /^\{\w+\}$/.test(segment)

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
