/**
 * Every setting with its reader, default, bounds and meaning, declared once. Its property is what the code calls it; `keys` derives
 * the key of the settings file from that. Types, the reference in the README, suggestions for unknown keys and the test of the
 * example file all follow from this schema.
 */
import { z } from 'zod'
import { PUBLISH_FORMATS, PUBLISHED_AS } from '../model/publish-formats.js'
import { DEFAULT_WEIGHTS } from '../model/refresh-rules.js'
import { readAccountName, readBaseUrl, readId, readToken } from './credentials.js'
import { duration, notInFile, orNull, section, setting, wholeNumber, yesOrNo } from './declare.js'
import {
  durationFrom,
  durationOrForever,
  listOf,
  oneOf,
  readBoolean,
  readPath,
  readRate,
  readRatePer,
  readRateRequests,
  readTimeZone,
  wholeNumberFrom,
} from './readers.js'
import { readShard } from './shards.js'
import { readFallback, readRedisUrl } from './shared-rate.js'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** Whether drift of the API's answers is only reported (evolve) or ends in exit 5 (freeze). */
const CONTRACTS = ['evolve', 'freeze'] as const

const weight = (byDefault: number, whose: string) =>
  wholeNumber(byDefault, 1, 100).describe(
    `${whose}: what the time since the last refresh counts in the order of the queue`,
  )

const MIB = 1_048_576
const ACCOUNTS_MAX = 100

const account = section({
  name: setting('1 to 64 of A-Z a-z 0-9 _ -', readAccountName)
    .prefault('default')
    .describe(
      'Stands in the column `account` of every table; unique. Keep it: rows of another name are rows of another account',
    ),
  baseUrl: setting('URL', readBaseUrl).optional().describe('Address of the API, ends with `/api/v1`'),
  id: setting('whole number', readId)
    .optional()
    .describe('Identifier of the account, sent as `Authorization-ID`'),
  token: setting('text', readToken)
    .optional()
    .describe(
      'Secret token, sent as `Authorization-Token`. Take it from the environment, or use `token_file`',
    ),
  tokenFile: setting('path', readPath)
    .optional()
    .describe("File that holds the token instead; relative to the settings file's directory"),
  rateLimit: section({
    requests: setting('whole number, 1 to 10000', readRateRequests)
      .prefault(60)
      .describe('Requests allowed in any window of `per`; support can raise it'),
    perMs: setting('duration, 100ms to 1h', readRatePer).prefault('60s').describe('Length of that window'),
    shared: setting('URL of a Redis', readRedisUrl)
      .optional()
      .describe(
        'Where several processes use the same account at the same time: the Redis through which they share this cap, `redis://` or `rediss://`. Without it each warehouse takes the whole cap for itself',
      ),
    sharedFallback: setting('stop, a percentage such as 50%, or whole number, 1 to 10000', readFallback)
      .prefault('stop')
      .describe(
        'What happens while that Redis is away: `stop` ends the run with exit 4. A percentage of the cap, or a number of requests per window, lets this process go on with so much. The fallbacks of all processes together must not exceed the cap',
      ),
  }).prefault({}),
  weight: wholeNumber(1, 1, 1_000).describe(
    'Weight of the account where `--max-requests` is divided among several; what one does not use goes to the others',
  ),
  /** `rateLimit` as one text, which stands above it. */
  rate: notInFile(readRate).optional(),
})

export const settingsSchema = section({
  accounts: z
    .array(account, { error: 'must be a list of accounts, each beginning with "- "' })
    .max(ACCOUNTS_MAX, `must hold at most ${ACCOUNTS_MAX} accounts`)
    .prefault([]),
  allowInsecureHttp: yesOrNo(false).describe(
    'Allow a token to be sent over plain http to another host than this one',
  ),
  warehouse: section({
    directory: setting('path', readPath)
      .prefault('warehouse')
      .describe(
        'Directory of the warehouse on this machine, without a `?` in its path; relative to the directory the command is started in',
      ),
  }).prefault({}),
  publish: setting(`list of ${PUBLISH_FORMATS.join(', ')}`, listOf(...PUBLISH_FORMATS))
    .prefault(['duckdb'])
    .describe(
      `What is published for readers at the end of a run, one or several of ${PUBLISH_FORMATS.map((format) => `${format} (\`${PUBLISHED_AS[format]}\`)`).join(', ')}`,
    ),
  contract: setting(CONTRACTS.join(' or '), oneOf(...CONTRACTS))
    .prefault('evolve')
    .describe(
      'Unknown fields and values of the API: `evolve` stores and reports them, `freeze` also ends the run with exit 5',
    ),
  discover: section({
    overlapMs: duration('5m', '0s', '1d').describe(
      "How far behind the server's clock the next listing starts; the surveys in between are read twice",
    ),
    fullListingEveryMs: duration('7d', '0s', '365d').describe(
      'All surveys are listed when the last full listing is older than this, which finds the ones that are gone',
    ),
  }).prefault({}),
  refresh: section({
    settleForMs: duration('1d', '0s', '365d').describe(
      'A complete survey is refreshed in every run for this long after its last change, then after 1, 2, 4, 8 … days, for as long as nothing moves',
    ),
    maxAgeMs: duration('30d', '0s', '3650d').describe(
      'Every survey but drafts and demos is refreshed at least this often',
    ),
    weights: section({
      fieldwork: weight(DEFAULT_WEIGHTS.fieldwork, 'Surveys in field'),
      active: weight(DEFAULT_WEIGHTS.active, 'Surveys of any other active status'),
      other: weight(DEFAULT_WEIGHTS.other, 'All others'),
    }).prefault({}),
    listSourcesEveryMs: duration('7d', '0s', '365d').describe(
      "Read the list of a survey's sample sources when that was last done longer ago than this, or when the survey, its target or interviews of no known source say that it changed. Of a survey that is over 12 times as long",
    ),
    skipUnchanged: yesOrNo(true).describe(
      "Skip the requests per sample source when the sources and the survey's progress equal what is stored",
    ),
    recheckUnchangedAfterMs: duration('7d', '0s', '365d').describe(
      'Read the progress of every source all the same when that was last done longer ago than this. Of a survey that is over 12 times as long',
    ),
    dailyWindows: orNull(
      section({
        days: wholeNumber(7, 1, 60).describe(
          'Also read the interviews that started on single days, for `survey_progress_by_day`: so many days up to today are read again and again, an older one once more. Off without this section',
        ),
        timeZone: setting('name of a time zone', readTimeZone)
          .prefault('UTC')
          .describe('Whose days these are'),
        sources: yesOrNo(false).describe('Read the days of each sample source as well'),
      }),
    ),
  }).prefault({}),
  history: section({
    progressKeepAllForMs: setting('duration, 0s to 36500d, or forever', durationOrForever('0s', '36500d'))
      .prefault('forever')
      .describe(
        'Every observation of progress is kept for this long; of older days only the last one. What is left out does not come back',
      ),
  }).prefault({}),
  limits: section({
    requestTimeoutMs: duration('30s', '100ms', '10m').describe('How long one request may take'),
    attemptsMax: wholeNumber(6, 1, 20).describe(
      'Attempts a request before it counts as failed; answers 429 are not counted',
    ),
    backoffBaseMs: duration('500ms', '1ms', '1m').describe(
      'Longest wait before the first retry; it doubles with each',
    ),
    backoffMaxMs: duration('60s', '1ms', '1h').describe(
      'Longest wait before any retry; at least `backoff_base`',
    ),
    responseBytesMax: wholeNumber(32 * MIB, 1_024, 256 * MIB).describe('Largest answer that is read, bytes'),
    rejectedRowsMax: wholeNumber(0, 0, 1_000_000_000).describe(
      'More rejected rows than this in a run end it with exit 5; all good rows are kept',
    ),
    consecutiveFailuresMax: wholeNumber(5, 1, 1_000).describe(
      'A run stops when this many surveys in a row failed',
    ),
  }).prefault({}),
  // What follows is of one run, and so not in the file.
  config: orNull(notInFile(readPath)),
  logLevel: notInFile(oneOf(...LOG_LEVELS)).prefault('info'),
  budget: section({
    requestsMax: orNull(notInFile(wholeNumberFrom(1, 1_000_000_000))),
    durationMsMax: orNull(notInFile(durationFrom('1s', '30d'))),
  }).prefault({}),
  shard: orNull(notInFile(readShard)),
  full: notInFile(readBoolean).prefault(false),
  json: notInFile(readBoolean).prefault(false),
})

export type SettingsValues = z.output<typeof settingsSchema>
export type AccountValues = SettingsValues['accounts'][number]
