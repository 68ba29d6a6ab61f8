/** Reads the value of each option, either as the text of a flag or as the typed value of a call. */
import { z } from 'zod'
import { CLOCK_FACTOR_MAX, RATE_REQUESTS_MAX, START_YEAR_MAX, START_YEAR_MIN } from './option-texts.js'
import { parseIsoTime } from './time/iso-time.js'

const RATE_MS_MAX = 24 * 3_600_000

const digits = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number)

export const wholeNumber = (min: number, max: number) =>
  z.union([z.number(), digits]).pipe(z.number().int().min(min).max(max))

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

const parseMs = (text: string): number => {
  const [, count, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? []
  return Number(count) * (UNIT_MS[unit] ?? Number.NaN)
}

/** Whole milliseconds from 0 to a day. */
export const durationMs = z
  .union([z.number(), z.string().transform(parseMs)])
  .pipe(z.number().int().min(0).max(RATE_MS_MAX))

const rateLimitValue = z.object({
  requests: z.number().int().min(1).max(RATE_REQUESTS_MAX),
  perMs: z.number().int().min(1).max(RATE_MS_MAX),
})

const rateLimitText = z.string().transform((text) => {
  const [, requests, per = ''] = /^(\d{1,9})\/(\w+)$/.exec(text) ?? []
  return { requests: Number(requests), perMs: parseMs(per) }
})

export const rateLimit = z.union([rateLimitText, rateLimitValue]).pipe(rateLimitValue)

export const startAt = z.string().transform((text, context) => {
  const at = parseIsoTime(text)
  const year = at === null ? Number.NaN : new Date(at / 1_000).getUTCFullYear()
  if (at !== null && year >= START_YEAR_MIN && year < START_YEAR_MAX) return at
  context.addIssue({ code: 'custom', message: 'not a usable start' })
  return z.NEVER
})

export const clockSpeed = z.string().transform((label, context) => {
  if (label === 'real') return { label, factor: 1 }
  if (label === 'frozen') return { label, factor: 0 }
  const factor = /^\d+(?:\.\d+)?x$/.test(label) ? Number(label.slice(0, -1)) : Number.NaN
  if (factor > 0 && factor <= CLOCK_FACTOR_MAX) return { label, factor }
  context.addIssue({ code: 'custom', message: 'not a usable clock' })
  return z.NEVER
})
