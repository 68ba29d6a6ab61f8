/**
 * The options of the reference server, each declared once: how its value is read, its default, and its description
 * for `--help` and for errors. A flag and a call from a test are read by the same rules.
 */
import { z } from 'zod'
import { RATE_WINDOWS } from './api/rate-window.js'
import { RETRY_AFTER_STYLES } from './api/retry-after.js'
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
import { EMPTY_RATES } from './world/empty-rates.js'

const SURVEYS_MAX = 1_000_000
const ACCOUNTS_MAX = 100
const PAGE_SIZE_MAX = 1_000

interface OptionText {
  /** As it would be written on the command line; null for an option that has none. */
  readonly default: string | null
  /** For `--help`. */
  readonly describe: string
  /** What an error tells the caller to give. */
  readonly give: string
}

const TEXTS = z.registry<OptionText>()

const wholeOption = (min: number, max: number, { give, ...text }: OptionText) =>
  wholeNumber(min, max).register(TEXTS, { ...text, give: `${give}, a whole number from ${min} to ${max}` })

const choiceOption = <const Choices extends readonly string[]>(
  choices: Choices,
  text: { readonly default: Choices[number]; readonly describe: string },
) => {
  const list = choices.join(', ')
  return z.enum(choices).register(TEXTS, {
    default: text.default,
    describe: `${text.describe}: ${list}`,
    give: `one of ${list}`,
  })
}

const settingsSchema = z.object({
  port: wholeOption(0, 65_535, {
    default: '8080',
    describe: 'Port to listen on; 0 takes any free one',
    give: 'the port to listen on (0: any free one)',
  }),
  host: z.string().min(1).register(TEXTS, {
    default: '127.0.0.1',
    describe: 'Address to listen on',
    give: 'an address of this machine, such as 127.0.0.1',
  }),
  seed: wholeOption(0, Number.MAX_SAFE_INTEGER, {
    default: '42',
    describe: 'The number from which the world is drawn',
    give: 'the seed of the world',
  }),
  surveys: wholeOption(0, SURVEYS_MAX, {
    default: '200',
    describe: 'Surveys of each account at the start',
    give: 'the surveys of each account',
  }),
  accounts: wholeOption(1, ACCOUNTS_MAX, {
    default: '1',
    describe: 'Number of accounts; none sees the surveys of another',
    give: 'the number of accounts',
  }),
  pageSize: wholeOption(1, PAGE_SIZE_MAX, {
    default: '50',
    describe: 'Records per page',
    give: 'the records per page',
  }),
  rateLimit: rateLimit.register(TEXTS, {
    default: '60/60s',
    describe: 'Requests that each account may make, per time',
    give: 'requests per time, such as 60/60s or 5/300ms',
  }),
  rateWindow: choiceOption(RATE_WINDOWS, { default: 'sliding', describe: 'How requests are counted' }),
  /** Milliseconds. */
  ratePhase: durationMs.register(TEXTS, {
    default: '0s',
    describe: 'How far into a window the server starts, where windows have fixed borders',
    give: 'a time of at most a day, such as 15s',
  }),
  foreignLoad: wholeNumber(0, RATE_REQUESTS_MAX).register(TEXTS, {
    default: '0',
    describe: 'Requests per window that somebody else makes with each account',
    give: 'requests per window, a whole number below those of --rate-limit',
  }),
  retryAfter: choiceOption(RETRY_AFTER_STYLES, {
    default: 'seconds',
    describe: 'Retry-After of an answer 429',
  }),
  emptyRates: choiceOption(EMPTY_RATES, {
    default: 'null',
    describe: 'How a rate over zero interviews is shown',
  }),
  startAt: startAt.register(TEXTS, {
    default: '2026-03-01T00:00:00Z',
    describe: "Where the world's clock starts",
    give: `an ISO 8601 date-time with an offset between ${START_YEAR_MIN} and ${START_YEAR_MAX}, such as 2026-03-01T00:00:00Z`,
  }),
  clock: clockSpeed.register(TEXTS, {
    default: 'real',
    describe: "Speed of the world's clock: real, frozen or a factor such as 600x",
    give: `real, frozen, or a factor up to ${CLOCK_FACTOR_MAX}x, such as 600x`,
  }),
  /** A list of faults, or the path of a file that holds one; null for none. */
  faults: z
    .union([z.string().min(1), z.array(z.unknown()).readonly()])
    .nullable()
    .register(TEXTS, {
      default: null,
      describe: 'YAML or JSON file of faults: answers that come late, broken, changed or not at all',
      give: 'the path of a YAML or JSON file',
    }),
})

/** The options as they are given; a missing one has its default. */
export type ReferenceServerOptions = Readonly<Partial<z.input<typeof settingsSchema>>>

/** The options, complete and checked. */
export type ReferenceServerSettings = Readonly<z.output<typeof settingsSchema>>

/** The options in words, by name. The flags of the command are made of them. */
export const OPTIONS: Readonly<Record<string, OptionText>> = Object.fromEntries(
  Object.entries(settingsSchema.shape).flatMap(([name, schema]) => {
    const text = TEXTS.get(schema)
    return text === undefined ? [] : [[name, text]]
  }),
)

/**
 * Reads options, typed or as the text of flags, and ignores other names. Throws one `OptionsError` that has a line
 * for each wrong one.
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
