/** Reads the options of the reference server. A flag and a call from a test are read by the same rules. */
import { z } from 'zod'
import { ExpectedError } from '../base/errors.js'
import {
  BOUNDS,
  CLOCK_FACTOR_MAX,
  EMPTY_RATES,
  flagOf,
  OPTIONS,
  type OptionName,
  RATE_REQUESTS_MAX,
  RATE_WINDOWS,
  RETRY_AFTER_STYLES,
  START_YEAR_MAX,
  START_YEAR_MIN,
} from './option-texts.js'
import { parseIsoTime } from './time.js'

const RATE_MS_MAX = 24 * 3_600_000

const digits = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number)

const wholeNumber = (min: number, max: number) =>
  z.union([z.number(), digits]).pipe(z.number().int().min(min).max(max))

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

const parseMs = (text: string): number => {
  const [, count, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? []
  return Number(count) * (UNIT_MS[unit] ?? Number.NaN)
}

/** Whole milliseconds from 0 to a day. */
const durationMs = z
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

const rateLimit = z.union([rateLimitText, rateLimitValue]).pipe(rateLimitValue)

const yearStart = (year: number) => Date.UTC(year, 0, 1) * 1_000

const startAt = z
  .string()
  .transform(parseIsoTime)
  .pipe(z.number().gte(yearStart(START_YEAR_MIN)).lt(yearStart(START_YEAR_MAX)))

const clockSpeed = z.string().transform((label, context) => {
  if (label === 'real') return { label, factor: 1 }
  if (label === 'frozen') return { label, factor: 0 }
  const factor = /^\d+(?:\.\d+)?x$/.test(label) ? Number(label.slice(0, -1)) : Number.NaN
  if (factor > 0 && factor <= CLOCK_FACTOR_MAX) return { label, factor }
  context.addIssue({ code: 'custom', message: 'not a usable clock' })
  return z.NEVER
})

const READERS = {
  port: wholeNumber(...BOUNDS.port),
  host: z.string().min(1),
  seed: wholeNumber(...BOUNDS.seed),
  surveys: wholeNumber(...BOUNDS.surveys),
  accounts: wholeNumber(...BOUNDS.accounts),
  pageSize: wholeNumber(...BOUNDS.pageSize),
  rateLimit,
  rateWindow: z.enum(RATE_WINDOWS),
  /** Milliseconds. */
  ratePhase: durationMs,
  foreignLoad: wholeNumber(0, RATE_REQUESTS_MAX),
  retryAfter: z.enum(RETRY_AFTER_STYLES),
  emptyRates: z.enum(EMPTY_RATES),
  startAt,
  clock: clockSpeed,
  /** A list of faults, or the path of a file that holds one; null for none. */
  faults: z.union([z.string().min(1), z.array(z.unknown()).readonly()]).nullable(),
} satisfies Record<OptionName, z.ZodType>

const settingsSchema = z.object(READERS)

/** The options as they are given; a missing one has its default. */
export type ReferenceServerOptions = Readonly<Partial<z.input<typeof settingsSchema>>>

/** The options, complete and checked. */
export type ReferenceServerSettings = Readonly<z.output<typeof settingsSchema>>

/** Reads options, typed or as the text of flags, and ignores other names. Throws `reference_server_options` with a line for each wrong one. */
export const readOptions = (
  options: ReferenceServerOptions | Readonly<Record<string, string | boolean | undefined>>,
): ReferenceServerSettings => {
  const given: Readonly<Record<string, unknown>> = options
  const values = Object.fromEntries(
    Object.entries(OPTIONS).map(([name, option]) => [name, given[name] ?? option.default]),
  )
  const result = settingsSchema.safeParse(values)
  const wrong = new Set(result.error?.issues.map(({ path: [name] }) => name))
  if (result.data !== undefined && result.data.foreignLoad >= result.data.rateLimit.requests) {
    wrong.add('foreignLoad')
  }
  if (result.data !== undefined && wrong.size === 0) return result.data
  const lines = Object.entries(OPTIONS).flatMap(([name, { give }]) =>
    wrong.has(name) ? [`--${flagOf(name)} is ${JSON.stringify(values[name])}: give ${give}.`] : [],
  )
  throw new ExpectedError('reference_server_options', lines.join('\n'))
}
