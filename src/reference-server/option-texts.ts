/** The options of the reference server in words: choices, defaults, descriptions. It imports nothing, so `--help` is fast. */

/** The ways to count requests against the cap; `none` counts nothing. */
export const RATE_WINDOWS = ['sliding', 'fixed', 'sliding-counter', 'none'] as const

export type RateWindowKind = (typeof RATE_WINDOWS)[number]

/** `seconds`: how long to wait; `date`: until when, relative to the `Date` of the same answer; `none`: no header. */
export const RETRY_AFTER_STYLES = ['seconds', 'date', 'none'] as const

export type RetryAfterStyle = (typeof RETRY_AFTER_STYLES)[number]

/** How a rate over zero interviews is shown, and the length of an interview where none is complete. */
export const EMPTY_RATES = ['null', 'zero', 'omit'] as const

export type EmptyRates = (typeof EMPTY_RATES)[number]

/** The smallest and the largest value. */
export const BOUNDS = {
  port: [0, 65_535],
  seed: [0, Number.MAX_SAFE_INTEGER],
  surveys: [0, 1_000_000],
  accounts: [1, 100],
  pageSize: [1, 1_000],
} as const

export const RATE_REQUESTS_MAX = 1_000_000
export const CLOCK_FACTOR_MAX = 1_000_000
export const START_YEAR_MIN = 2000
export const START_YEAR_MAX = 2100

interface OptionText {
  /** As on the command line; null for an option that has none. */
  readonly default: string | null
  readonly describe: string
  /** What an error tells the caller to give. */
  readonly give: string
}

const whole = (name: keyof typeof BOUNDS, { give, ...text }: OptionText): OptionText => {
  const [min, max] = BOUNDS[name]
  return { ...text, give: `${give}, a whole number from ${min} to ${max}` }
}

const choice = <const Choices extends readonly string[]>(
  choices: Choices,
  text: { readonly default: Choices[number]; readonly describe: string },
): OptionText => {
  const list = choices.join(', ')
  return { default: text.default, describe: `${text.describe}: ${list}`, give: `one of ${list}` }
}

const TEXTS = {
  port: whole('port', {
    default: '8080',
    describe: 'Port to listen on; 0 takes any free one',
    give: 'the port to listen on (0: any free one)',
  }),
  host: {
    default: '127.0.0.1',
    describe: 'Address to listen on',
    give: 'an address of this machine, such as 127.0.0.1',
  },
  seed: whole('seed', {
    default: '42',
    describe: 'The number from which the world is drawn',
    give: 'the seed of the world',
  }),
  surveys: whole('surveys', {
    default: '200',
    describe: 'Surveys of each account at the start',
    give: 'the surveys of each account',
  }),
  accounts: whole('accounts', {
    default: '1',
    describe: 'Number of accounts; none sees the surveys of another',
    give: 'the number of accounts',
  }),
  pageSize: whole('pageSize', {
    default: '50',
    describe: 'Records per page',
    give: 'the records per page',
  }),
  rateLimit: {
    default: '60/60s',
    describe: 'Requests that each account may make, per time',
    give: 'requests per time, such as 60/60s or 5/300ms',
  },
  rateWindow: choice(RATE_WINDOWS, { default: 'sliding', describe: 'How requests are counted' }),
  ratePhase: {
    default: '0s',
    describe: 'How far into a window the server starts, where windows have fixed borders',
    give: 'a time of at most a day, such as 15s',
  },
  foreignLoad: {
    default: '0',
    describe: 'Requests per window that somebody else makes with each account',
    give: 'requests per window, a whole number below those of --rate-limit',
  },
  retryAfter: choice(RETRY_AFTER_STYLES, {
    default: 'seconds',
    describe: 'Retry-After of an answer 429',
  }),
  emptyRates: choice(EMPTY_RATES, {
    default: 'null',
    describe: 'How a rate over zero interviews is shown',
  }),
  startAt: {
    default: '2026-03-01T00:00:00Z',
    describe: "Where the world's clock starts",
    give: `an ISO 8601 date-time with an offset between ${START_YEAR_MIN} and ${START_YEAR_MAX}, such as 2026-03-01T00:00:00Z`,
  },
  clock: {
    default: 'real',
    describe: "Speed of the world's clock: real, frozen or a factor such as 600x",
    give: `real, frozen, or a factor up to ${CLOCK_FACTOR_MAX}x, such as 600x`,
  },
  faults: {
    default: null,
    describe: 'YAML or JSON file of faults: answers that come late, broken, changed or not at all',
    give: 'the path of a YAML or JSON file',
  },
}

export type OptionName = keyof typeof TEXTS

/** By name. The flags of the command are made of them. */
export const OPTIONS: Readonly<Record<string, OptionText>> = TEXTS

/** An option's name as a flag: `pageSize` is `page-size`. */
export const flagOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
