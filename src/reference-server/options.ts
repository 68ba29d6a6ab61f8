/** Reads the options of the reference server. A flag and a call from a test are read by the same rules. */

import { z } from 'zod'
import { ExpectedError } from '../base/errors.js'
import { RATE_WINDOWS } from './api/rate-window.js'
import { RETRY_AFTER_STYLES } from './api/retry-after.js'
import { BOUNDS, flagOf, OPTIONS, type OptionName, RATE_REQUESTS_MAX } from './option-texts.js'
import { clockSpeed, durationMs, rateLimit, startAt, wholeNumber } from './option-values.js'
import { EMPTY_RATES } from './world/empty-rates.js'

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

/**
 * Reads options, typed or as the text of flags, and ignores other names. Throws one `reference_server_options` that has a line
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
  throw new ExpectedError('reference_server_options', lines.join('\n'))
}
