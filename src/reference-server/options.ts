/** Reads the options of the reference server. A flag and a call from a test are read by the same rules. */
import { z } from 'zod'
import { ExpectedError } from '../base/errors.js'
import {
  EMPTY_RATES,
  flagOf,
  OPTIONS,
  type OptionName,
  RATE_WINDOWS,
  RETRY_AFTER_STYLES,
  SOURCE_CHANGES,
  TITLES,
  TOUCHES,
} from './option-texts.js'
import { parseIsoTime } from './time.js'

const RATE_REQUESTS_MAX = 1_000_000
const RATE_MS_MAX = 24 * 3_600_000
const CLOCK_FACTOR_MAX = 1_000_000
const CORRECTION_DAYS_MAX = 1_000
const START_YEAR_MIN = 2000
const START_YEAR_MAX = 2100

/** An error tells the caller to give `what`, which is also the description of the schema. */
const give = <Schema extends z.ZodType>(what: string, schema: Schema): Schema =>
  schema.meta({ description: what })

const digits = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number)

const numberBetween = (min: number, max: number) =>
  z.union([z.number(), digits]).pipe(z.number().int().min(min).max(max))

const wholeNumber = (what: string, min: number, max: number) =>
  give(`${what}, a whole number from ${min} to ${max}`, numberBetween(min, max))

const oneOf = <const Choices extends readonly string[]>(choices: Choices) =>
  give(`one of ${choices.join(', ')}`, z.enum(choices))

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

const lateCorrections = z.string().transform((label, context) => {
  if (label === 'none') return { label, share: 0, days: 0 }
  const [, percent, days] = /^(\d{1,3})%\/(\d{1,4})d$/.exec(label) ?? []
  const value = { label, share: Number(percent) / 100, days: Number(days) }
  if (value.share > 0 && value.share <= 1 && value.days >= 1 && value.days <= CORRECTION_DAYS_MAX)
    return value
  context.addIssue({ code: 'custom', message: 'no usable corrections' })
  return z.NEVER
})

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

const settingsSchema = z.object({
  port: wholeNumber('the port to listen on (0: any free one)', 0, 65_535),
  host: give('an address of this machine, such as 127.0.0.1', z.string().min(1)),
  seed: wholeNumber('the seed of the world', 0, Number.MAX_SAFE_INTEGER),
  surveys: wholeNumber('the surveys of each account', 0, 1_000_000),
  accounts: wholeNumber('the number of accounts', 1, 2_000),
  pageSize: wholeNumber('the records per page', 1, 1_000),
  rateLimit: give('requests per time, such as 60/60s or 5/300ms', rateLimit),
  rateWindow: oneOf(RATE_WINDOWS),
  /** Milliseconds. */
  ratePhase: give('a time of at most a day, such as 15s', durationMs),
  foreignLoad: give(
    'requests per window, a whole number below those of --rate-limit',
    numberBetween(0, RATE_REQUESTS_MAX),
  ),
  retryAfter: oneOf(RETRY_AFTER_STYLES),
  emptyRates: oneOf(EMPTY_RATES),
  sourceChanges: oneOf(SOURCE_CHANGES),
  touch: oneOf(TOUCHES),
  lateCorrections: give(
    `none, or how many of the complete surveys and a delay of at most ${CORRECTION_DAYS_MAX} days, such as 25%/90d`,
    lateCorrections,
  ),
  badSources: wholeNumber('the percent of sources', 0, 100),
  titles: oneOf(TITLES),
  startAt: give(
    `an ISO 8601 date-time with an offset between ${START_YEAR_MIN} and ${START_YEAR_MAX}, such as 2026-03-01T00:00:00Z`,
    startAt,
  ),
  clock: give(`real, frozen, or a factor up to ${CLOCK_FACTOR_MAX}x, such as 600x`, clockSpeed),
  /** A list of faults, or the path of a file that holds one; null for none. */
  faults: give(
    'the path of a YAML or JSON file',
    z.union([z.string().min(1), z.array(z.unknown()).readonly()]).nullable(),
  ),
} satisfies Record<OptionName, z.ZodType>)

/** The options of a caller. A missing option has its default. */
export type ReferenceServerOptions = Readonly<Partial<z.input<typeof settingsSchema>>>

/** The options, complete and checked. */
export type ReferenceServerSettings = Readonly<z.output<typeof settingsSchema>>

/** Reads options, typed or as the text of flags, and ignores other names. Throws `reference_server_options` with a line for each wrong one. */
export const readOptions = (
  options: ReferenceServerOptions | Readonly<Record<string, string | boolean | undefined>>,
): ReferenceServerSettings => {
  const byName: Readonly<Record<string, unknown>> = options
  const values = Object.fromEntries(
    Object.entries(OPTIONS).map(([name, option]) => [name, byName[name] ?? option.default]),
  )
  const result = settingsSchema.safeParse(values)
  const wrong = new Set(result.error?.issues.map(({ path: [name] }) => name))
  if (result.data !== undefined && result.data.foreignLoad >= result.data.rateLimit.requests) {
    wrong.add('foreignLoad')
  }
  if (result.data !== undefined && wrong.size === 0) return result.data
  const lines = Object.entries(settingsSchema.shape).flatMap(([name, schema]) =>
    wrong.has(name)
      ? [`--${flagOf(name)} is ${JSON.stringify(values[name])}: give ${schema.description}.`]
      : [],
  )
  throw new ExpectedError('reference_server_options', lines.join('\n'))
}
