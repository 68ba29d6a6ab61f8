/**
 * The options of the reference server, named like the flags of its command. Text and typed values are read by the
 * same rules, so that a flag and a call from a test mean the same; every wrong one gets a line of its own.
 */
import { z } from 'zod'
import { RATE_WINDOWS, type RateLimit, type RateWindowKind } from './api/rate-window.js'
import { OptionsError } from './errors.js'
import { type Micros, parseIsoTime } from './time/iso-time.js'
import type { ClockSpeed } from './time/world-clock.js'

/** All optional; `OPTION_DEFAULTS` says what a missing one means. */
export interface ReferenceServerOptions {
  /** 0 takes any free port. */
  readonly port?: number
  /** Address to listen on. */
  readonly host?: string
  /** The world grows from it: a whole number from 0. */
  readonly seed?: number
  /** Surveys of each account that exist at `startAt`; more are created as the clock goes on. */
  readonly surveys?: number
  readonly accounts?: number
  /** Records a page. */
  readonly pageSize?: number
  /** Requests an account may make, per so many milliseconds. */
  readonly rateLimit?: RateLimit
  readonly rateWindow?: RateWindowKind
  /** Where the world's clock starts: ISO 8601 with an offset. */
  readonly startAt?: string
  /** `real` (starts at `startAt`, as fast as real time), `frozen`, or a factor such as `600x`. */
  readonly clock?: string
}

/** The options, complete and checked. */
export interface ReferenceServerSettings {
  readonly port: number
  readonly host: string
  readonly seed: number
  readonly surveys: number
  readonly accounts: number
  readonly pageSize: number
  readonly rateLimit: RateLimit
  readonly rateWindow: RateWindowKind
  readonly startAt: Micros
  readonly clock: ClockSpeed
}

/** What a left-out option means, as it would be written on the command line. */
export const OPTION_DEFAULTS = {
  port: '8080',
  host: '127.0.0.1',
  seed: '42',
  surveys: '200',
  accounts: '1',
  pageSize: '50',
  rateLimit: '60/60s',
  rateWindow: 'sliding',
  startAt: '2026-03-01T00:00:00Z',
  clock: 'real',
} as const

type OptionName = keyof typeof OPTION_DEFAULTS

const SURVEYS_MAX = 1_000_000
const ACCOUNTS_MAX = 100
const PAGE_SIZE_MAX = 1_000
const RATE_REQUESTS_MAX = 1_000_000
const RATE_MS_MAX = 24 * 3_600_000
const CLOCK_FACTOR_MAX = 1_000_000
const START_YEAR_MIN = 2000
const START_YEAR_MAX = 2100

/**
 * Reads options as they come, typed or as the text of a flag; other names are passed over. Throws one
 * `OptionsError` that names all wrong ones, a line each.
 */
export const readOptions = (given: Readonly<Record<string, unknown>>): ReferenceServerSettings => {
  const problems: string[] = []
  const read = <Value>(name: OptionName, schema: z.ZodType<Value>, hint: string): Value | undefined => {
    const value = given[name] ?? OPTION_DEFAULTS[name]
    const result = schema.safeParse(value)
    if (!result.success) problems.push(`--${flagOf(name)} is ${JSON.stringify(value)}: give ${hint}.`)
    return result.data
  }
  const whole = (name: OptionName, min: number, max: number, what: string): number =>
    read(name, wholeNumber(min, max), `${what}, a whole number from ${min} to ${max}`) ?? min
  const settings = {
    port: whole('port', 0, 65_535, 'the port to listen on (0: any free one)'),
    host: read('host', z.string().min(1), 'an address of this machine, such as 127.0.0.1') ?? '',
    seed: whole('seed', 0, Number.MAX_SAFE_INTEGER, 'the seed of the world'),
    surveys: whole('surveys', 0, SURVEYS_MAX, 'the surveys of each account'),
    accounts: whole('accounts', 1, ACCOUNTS_MAX, 'the number of accounts'),
    pageSize: whole('pageSize', 1, PAGE_SIZE_MAX, 'the records a page'),
    rateLimit: read('rateLimit', rateLimit, 'requests per time, such as 60/60s or 5/300ms'),
    rateWindow: read('rateWindow', z.enum(RATE_WINDOWS), `one of ${RATE_WINDOWS.join(', ')}`),
    startAt: read(
      'startAt',
      startAt,
      `an ISO 8601 date-time with an offset between ${START_YEAR_MIN} and ${START_YEAR_MAX}, such as 2026-03-01T00:00:00Z`,
    ),
    clock: read('clock', clockSpeed, `real, frozen, or a factor up to ${CLOCK_FACTOR_MAX}x, such as 600x`),
  }
  const { rateLimit: limit, rateWindow, startAt: start, clock } = settings
  if (
    limit === undefined ||
    rateWindow === undefined ||
    start === undefined ||
    clock === undefined ||
    problems.length > 0
  ) {
    throw new OptionsError(problems.join('\n'))
  }
  return { ...settings, rateLimit: limit, rateWindow, startAt: start, clock }
}

const flagOf = (name: OptionName): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

const wholeNumber = (min: number, max: number): z.ZodType<number> =>
  z
    .union([
      z.number(),
      z
        .string()
        .regex(/^\d{1,16}$/)
        .transform(Number),
    ])
    .pipe(z.number().int().min(min).max(max))

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

const rateLimitText = z.string().transform((text): unknown => {
  const [, requests, count, unit = ''] = /^(\d+)\/(\d+)(ms|s|m|h)$/.exec(text) ?? []
  return { requests: Number(requests), perMs: Number(count) * (UNIT_MS[unit] ?? Number.NaN) }
})

const rateLimit: z.ZodType<RateLimit> = z.union([rateLimitText, z.unknown()]).pipe(
  z.object({
    requests: z.number().int().min(1).max(RATE_REQUESTS_MAX),
    perMs: z.number().int().min(1).max(RATE_MS_MAX),
  }),
)

const startAt: z.ZodType<Micros> = z.string().transform((text, context) => {
  const at = parseIsoTime(text)
  const year = at === null ? Number.NaN : new Date(at / 1_000).getUTCFullYear()
  if (at !== null && year >= START_YEAR_MIN && year < START_YEAR_MAX) return at
  context.addIssue({ code: 'custom', message: 'not a usable start' })
  return z.NEVER
})

const clockSpeed: z.ZodType<ClockSpeed> = z.string().transform((label, context) => {
  if (label === 'real') return { label, factor: 1 }
  if (label === 'frozen') return { label, factor: 0 }
  const factor = /^\d+(?:\.\d+)?x$/.test(label) ? Number(label.slice(0, -1)) : Number.NaN
  if (factor > 0 && factor <= CLOCK_FACTOR_MAX) return { label, factor }
  context.addIssue({ code: 'custom', message: 'not a usable clock' })
  return z.NEVER
})
