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

const text = (usual: string | null, describe: string, give: string): OptionText => ({
  default: usual,
  describe,
  give,
})

const whole = (name: keyof typeof BOUNDS, usual: string, describe: string, give: string): OptionText => {
  const [min, max] = BOUNDS[name]
  return text(usual, describe, `${give}, a whole number from ${min} to ${max}`)
}

const choice = <const Choices extends readonly string[]>(
  choices: Choices,
  usual: Choices[number],
  describe: string,
): OptionText => text(usual, `${describe}: ${choices.join(', ')}`, `one of ${choices.join(', ')}`)

const TEXTS = {
  port: whole(
    'port',
    '8080',
    'Port to listen on; 0 takes any free one',
    'the port to listen on (0: any free one)',
  ),
  host: text('127.0.0.1', 'Address to listen on', 'an address of this machine, such as 127.0.0.1'),
  seed: whole('seed', '42', 'The number from which the world is drawn', 'the seed of the world'),
  surveys: whole('surveys', '200', 'Surveys of each account at the start', 'the surveys of each account'),
  accounts: whole(
    'accounts',
    '1',
    'Number of accounts; none sees the surveys of another',
    'the number of accounts',
  ),
  pageSize: whole('pageSize', '50', 'Records per page', 'the records per page'),
  rateLimit: text(
    '60/60s',
    'Requests that each account may make, per time',
    'requests per time, such as 60/60s or 5/300ms',
  ),
  rateWindow: choice(RATE_WINDOWS, 'sliding', 'How requests are counted'),
  ratePhase: text(
    '0s',
    'How far into a window the server starts, where windows have fixed borders',
    'a time of at most a day, such as 15s',
  ),
  foreignLoad: text(
    '0',
    'Requests per window that somebody else makes with each account',
    'requests per window, a whole number below those of --rate-limit',
  ),
  retryAfter: choice(RETRY_AFTER_STYLES, 'seconds', 'Retry-After of an answer 429'),
  emptyRates: choice(EMPTY_RATES, 'null', 'How a rate over zero interviews is shown'),
  startAt: text(
    '2026-03-01T00:00:00Z',
    "Where the world's clock starts",
    `an ISO 8601 date-time with an offset between ${START_YEAR_MIN} and ${START_YEAR_MAX}, such as 2026-03-01T00:00:00Z`,
  ),
  clock: text(
    'real',
    "Speed of the world's clock: real, frozen or a factor such as 600x",
    `real, frozen, or a factor up to ${CLOCK_FACTOR_MAX}x, such as 600x`,
  ),
  faults: text(
    null,
    'YAML or JSON file of faults: answers that come late, broken, changed or not at all',
    'the path of a YAML or JSON file',
  ),
}

export type OptionName = keyof typeof TEXTS

/** By name. The flags of the command are made of them. */
export const OPTIONS: Readonly<Record<string, OptionText>> = TEXTS

/** An option's name as a flag: `pageSize` is `page-size`. */
export const flagOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
