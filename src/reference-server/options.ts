/**
 * The options of the reference server, named like the flags of its command. Text and typed values are read by the
 * same rules, so that a flag and a call from a test mean the same; every wrong one gets a line of its own.
 */
import { z } from 'zod'
import { RATE_WINDOWS, type RateLimit, type RateWindowKind } from './api/rate-window.js'
import { RETRY_AFTER_STYLES, type RetryAfterStyle } from './api/retry-after.js'
import { OptionsError } from './errors.js'
import {
  CLOCK_FACTOR_MAX,
  clockSpeed,
  durationMs,
  RATE_REQUESTS_MAX,
  rateLimit,
  START_YEAR_MAX,
  START_YEAR_MIN,
  startAt,
  wholeNumber,
} from './option-values.js'
import { EMPTY_RATES, type EmptyRates } from './world/empty-rates.js'

/** All optional; `OPTIONS` says what a missing one means. */
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
  /** How far into a window the server starts: text such as `15s`, or milliseconds. */
  readonly ratePhase?: string | number
  /** Requests a window that somebody else spends of each account's cap. */
  readonly foreignLoad?: number
  /** How an answer 429 tells when to come back. */
  readonly retryAfter?: RetryAfterStyle
  /** What a rate over zero interviews is shown as. */
  readonly emptyRates?: EmptyRates
  /** Faults to begin with: a list of them, or the path of a YAML or JSON file that holds one. */
  readonly faults?: string | readonly unknown[]
  /** Where the world's clock starts: ISO 8601 with an offset. */
  readonly startAt?: string
  /** `real` (starts at `startAt`, as fast as real time), `frozen`, or a factor such as `600x`. */
  readonly clock?: string
}

const SURVEYS_MAX = 1_000_000
const ACCOUNTS_MAX = 100
const PAGE_SIZE_MAX = 1_000

const settingsSchema = z.object({
  port: wholeNumber(0, 65_535),
  host: z.string().min(1),
  seed: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  surveys: wholeNumber(0, SURVEYS_MAX),
  accounts: wholeNumber(1, ACCOUNTS_MAX),
  pageSize: wholeNumber(1, PAGE_SIZE_MAX),
  rateLimit,
  rateWindow: z.enum(RATE_WINDOWS),
  /** Milliseconds. */
  ratePhase: durationMs,
  foreignLoad: wholeNumber(0, RATE_REQUESTS_MAX),
  retryAfter: z.enum(RETRY_AFTER_STYLES),
  emptyRates: z.enum(EMPTY_RATES),
  startAt,
  clock: clockSpeed,
  /** Null for none. */
  faults: z.union([z.string().min(1), z.array(z.unknown())]).nullable(),
})

/** The options, complete and checked. */
export type ReferenceServerSettings = Readonly<z.output<typeof settingsSchema>>

type OptionName = keyof ReferenceServerSettings

interface OptionText {
  /** What a left-out option means, as it would be written on the command line; null where that is nothing at all. */
  readonly default: string | null
  /** For `--help`. */
  readonly describe: string
  /** What an error asks for. */
  readonly give: string
}

/** The options in words; the flags of the command are made of them. */
export const OPTIONS: Readonly<Record<OptionName, OptionText>> = {
  port: {
    default: '8080',
    describe: 'Port to listen on; 0 takes any free one',
    give: 'the port to listen on (0: any free one), a whole number from 0 to 65535',
  },
  host: {
    default: '127.0.0.1',
    describe: 'Address to listen on',
    give: 'an address of this machine, such as 127.0.0.1',
  },
  seed: {
    default: '42',
    describe: 'The world grows from this number',
    give: `the seed of the world, a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
  },
  surveys: {
    default: '200',
    describe: 'Surveys of each account at the start',
    give: `the surveys of each account, a whole number from 0 to ${SURVEYS_MAX}`,
  },
  accounts: {
    default: '1',
    describe: 'Accounts, none of which sees another',
    give: `the number of accounts, a whole number from 1 to ${ACCOUNTS_MAX}`,
  },
  pageSize: {
    default: '50',
    describe: 'Records a page',
    give: `the records a page, a whole number from 1 to ${PAGE_SIZE_MAX}`,
  },
  rateLimit: {
    default: '60/60s',
    describe: 'Requests an account may make, per time',
    give: 'requests per time, such as 60/60s or 5/300ms',
  },
  rateWindow: {
    default: 'sliding',
    describe: `How they are counted: ${RATE_WINDOWS.join(', ')}`,
    give: `one of ${RATE_WINDOWS.join(', ')}`,
  },
  ratePhase: {
    default: '0s',
    describe: 'How far into a window the server starts, where windows are fixed',
    give: 'a time of at most a day, such as 15s',
  },
  foreignLoad: {
    default: '0',
    describe: "Requests a window that somebody else spends of each account's cap",
    give: 'requests a window, a whole number below those of --rate-limit',
  },
  retryAfter: {
    default: 'seconds',
    describe: `Retry-After of an answer 429: ${RETRY_AFTER_STYLES.join(', ')}`,
    give: `one of ${RETRY_AFTER_STYLES.join(', ')}`,
  },
  emptyRates: {
    default: 'null',
    describe: `A rate over zero interviews is shown as: ${EMPTY_RATES.join(', ')}`,
    give: `one of ${EMPTY_RATES.join(', ')}`,
  },
  startAt: {
    default: '2026-03-01T00:00:00Z',
    describe: "Where the world's clock starts",
    give: `an ISO 8601 date-time with an offset between ${START_YEAR_MIN} and ${START_YEAR_MAX}, such as 2026-03-01T00:00:00Z`,
  },
  clock: {
    default: 'real',
    describe: 'How fast it goes: real, frozen or a factor such as 600x',
    give: `real, frozen, or a factor up to ${CLOCK_FACTOR_MAX}x, such as 600x`,
  },
  faults: {
    default: null,
    describe: 'YAML or JSON file of faults: answers that come late, broken, changed or not at all',
    give: 'the path of a YAML or JSON file',
  },
}

/**
 * Reads options as they come, typed or as the text of a flag; other names are passed over. Throws one
 * `OptionsError` that names all wrong ones, a line each.
 */
export const readOptions = (given: Readonly<Record<string, unknown>>): ReferenceServerSettings => {
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
  throw new OptionsError(lines.join('\n'))
}

/** An option's name as a flag: `pageSize` is `page-size`. */
export const flagOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
