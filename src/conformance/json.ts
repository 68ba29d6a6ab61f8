/** JSON of unknown shape, read without trusting it. */

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Null for anything but a whole number. */
export const integerOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) ? value : null

/** Null for anything but text. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** A value as a report shows it; `missing` for undefined. */
export const jsonText = (value: unknown): string => JSON.stringify(value) ?? 'missing'
