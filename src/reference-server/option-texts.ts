/** The options of the reference server in words: choices, defaults, descriptions. It imports nothing, so `--help` is fast. */

/** The ways to count requests against the cap; `none` counts nothing. */
export const RATE_WINDOWS = ['sliding', 'fixed', 'sliding-counter', 'none'] as const

/** `seconds`: how long to wait; `date`: until when, relative to the `Date` of the same answer; `none`: no header. */
export const RETRY_AFTER_STYLES = ['seconds', 'date', 'none'] as const

/** How a rate over zero interviews is shown, and the length of an interview if no interview is complete. */
export const EMPTY_RATES = ['null', 'zero', 'omit'] as const

export type EmptyRates = (typeof EMPTY_RATES)[number]

/** `with-survey`: sources of drafts, demos and complete surveys change only at the same moment as the survey. `free`: any time. */
export const SOURCE_CHANGES = ['with-survey', 'free'] as const

export type SourceChanges = (typeof SOURCE_CHANGES)[number]

/** What moves a survey's `updated_at` beside its own fields. */
export const TOUCHES = ['none', 'interviews', 'sources', 'both'] as const

export type Touch = (typeof TOUCHES)[number]

/** `odd`: many scripts, quotes, emoji, and titles that look like another type. `plain`: as most people write them. */
export const TITLES = ['odd', 'plain'] as const

export type Titles = (typeof TITLES)[number]

/** `usual` is the default as on the command line; null for an option without a default. */
const option = (usual: string | null, describe: string) => ({ default: usual, describe })

/** The options by name, from which the flags of the command are made. */
export const OPTIONS = {
  port: option('8080', 'Port to listen on; 0 takes any free one'),
  host: option('127.0.0.1', 'Address to listen on'),
  seed: option('42', 'The number from which the world is drawn'),
  surveys: option('200', 'Surveys of each account at the start'),
  accounts: option('1', 'Number of accounts; none sees the surveys of another'),
  pageSize: option('50', 'Records per page'),
  rateLimit: option('60/60s', 'Requests that each account may make, per time'),
  rateWindow: option('sliding', `How requests are counted: ${RATE_WINDOWS.join(', ')}`),
  ratePhase: option('0s', 'How far into a window the server starts, where windows have fixed borders'),
  foreignLoad: option('0', 'Requests per window that somebody else makes with each account'),
  retryAfter: option('seconds', `Retry-After of an answer 429: ${RETRY_AFTER_STYLES.join(', ')}`),
  emptyRates: option('null', `How a rate over zero interviews is shown: ${EMPTY_RATES.join(', ')}`),
  sourceChanges: option(
    'with-survey',
    `When sources of drafts, demos and complete surveys change: ${SOURCE_CHANGES.join(', ')}`,
  ),
  touch: option('none', `What moves updated_at beside the survey's own fields: ${TOUCHES.join(', ')}`),
  lateCorrections: option(
    'none',
    'Complete surveys whose interviews are corrected later, and the longest delay: none or such as 25%/90d',
  ),
  badSources: option('0', 'Percent of sources of which many interviews are rejected for quality'),
  titles: option('odd', `Titles of surveys, names and descriptions of sources: ${TITLES.join(', ')}`),
  startAt: option('2026-03-01T00:00:00Z', "Where the world's clock starts"),
  clock: option('real', "Speed of the world's clock: real, frozen or a factor such as 600x"),
  faults: option(null, 'YAML or JSON file of faults: answers that come late, broken, changed or not at all'),
}

export type OptionName = keyof typeof OPTIONS

/** An option's name as a flag: `pageSize` is `page-size`. */
export const flagOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
