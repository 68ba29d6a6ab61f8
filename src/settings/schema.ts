/**
 * Every setting with its reader, default and meaning, declared once. Its property is what the code calls it; `keys` derives the key
 * of the settings file from that. Types, the reference in the README, suggestions for unknown keys and the test of the
 * example file all follow from this schema.
 */
import { z } from 'zod'
import { readAccountName, readBaseUrl, readId, readToken } from './credentials.js'
import { choice, duration, notInFile, orNull, section, setting, wholeNumber, yesOrNo } from './declare.js'
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
import { readRedisUrl, readWhileAway } from './shared-rate.js'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export const PUBLISH_FORMATS = ['duckdb', 'parquet'] as const

/** Whether drift of the API's answers is only reported (evolve) or ends in exit 5 (freeze). */
const CONTRACTS = ['evolve', 'freeze'] as const

const weight = (whose: string) =>
  wholeNumber(1, 100, `${whose}: what the time since the last refresh counts in the order of the queue`)

const MIB = 1_048_576
const ACCOUNTS_MAX = 100

const account = section({
  name: setting(
    '1 to 64 of A-Z a-z 0-9 _ -',
    readAccountName,
    'Stands in the column `account` of every table; unique. Keep it: rows of another name are rows of another account',
  ).prefault('default'),
  baseUrl: setting('URL', readBaseUrl, 'Address of the API, ends with `/api/v1`').optional(),
  id: setting('whole number', readId, 'Identifier of the account, sent as `Authorization-ID`').optional(),
  token: setting(
    'text',
    readToken,
    'Secret token, sent as `Authorization-Token`. Take it from the environment, or use `token_file`',
  ).optional(),
  tokenFile: setting(
    'path',
    readPath,
    "File that holds the token instead; relative to the settings file's directory",
  ).optional(),
  rateLimit: section({
    requests: setting(
      'whole number, 1 to 10000',
      readRateRequests,
      'Requests allowed in any window of `per`; support can raise it',
    ).prefault(60),
    perMs: setting('duration, 100ms to 1h', readRatePer, 'Length of that window').prefault('60s'),
    shared: setting(
      'URL of a Redis',
      readRedisUrl,
      'Where several processes use the same account at the same time: the Redis through which they share this cap, `redis://` or `rediss://`. Without it each warehouse takes the whole cap for itself',
    ).optional(),
    sharedUnreachable: setting(
      'stop, a part such as 50%, or whole number, 1 to 10000',
      readWhileAway,
      'While that Redis is away: `stop` ends the run with exit 4, a part or a number of requests is what this process goes on with. All processes together must not have more than the cap',
    ).prefault('stop'),
  }).prefault({}),
  share: wholeNumber(
    1,
    1_000,
    'Weight of the account where several share `--max-requests`; what one leaves goes to the others',
  ).prefault(1),
  /** `rateLimit` as one text, which stands above it. */
  rate: notInFile(readRate).optional(),
})

export const settingsSchema = section({
  accounts: z
    .array(account, { error: 'must be a list of accounts, each beginning with "- "' })
    .max(ACCOUNTS_MAX, `must hold at most ${ACCOUNTS_MAX} accounts`)
    .prefault([]),
  allowInsecureHttp: yesOrNo(
    'Allow a token to be sent over plain http to another host than this one',
  ).prefault(false),
  warehouse: section({
    directory: setting(
      'path',
      readPath,
      'Directory of the warehouse on this machine, without a `?` in its path; relative to the directory the command is started in',
    ).prefault('warehouse'),
  }).prefault({}),
  publish: setting(
    `list of ${PUBLISH_FORMATS.join(', ')}`,
    listOf(...PUBLISH_FORMATS),
    'What is published for readers at the end of a run: `fieldwork.duckdb`, Parquet files under `parquet/current`, or both',
  ).prefault(['duckdb']),
  contract: choice(
    CONTRACTS,
    'Unknown fields and values of the API: `evolve` stores and reports them, `freeze` also ends the run with exit 5',
  ).prefault('evolve'),
  discover: section({
    overlapMs: duration(
      '0s',
      '1d',
      "How far behind the server's clock the next listing starts; the surveys in between are read twice",
    ).prefault('5m'),
    fullListingEveryMs: duration(
      '0s',
      '365d',
      'All surveys are listed when the last full listing is older than this, which finds the ones that are gone',
    ).prefault('7d'),
  }).prefault({}),
  refresh: section({
    settleForMs: duration(
      '0s',
      '365d',
      'A complete survey is refreshed in every run for this long after its last change, then after 1, 2, 4, 8 … days, for as long as nothing moves',
    ).prefault('1d'),
    maxAgeMs: duration(
      '0s',
      '3650d',
      'Every survey but drafts and demos is refreshed at least this often',
    ).prefault('30d'),
    weights: section({
      fieldwork: weight('Surveys in field').prefault(4),
      live: weight('Surveys of any other live status').prefault(2),
      other: weight('All others').prefault(1),
    }).prefault({}),
    listSourcesEveryMs: duration(
      '0s',
      '365d',
      "Read the list of a survey's sample sources when that was last done longer ago than this, or when the survey, its target or interviews of no known source say that it changed. Of a survey that is over 12 times as long",
    ).prefault('7d'),
    skipUnchanged: yesOrNo(
      "Skip the requests per sample source when the sources and the survey's progress equal what is stored",
    ).prefault(true),
    recheckUnchangedAfterMs: duration(
      '0s',
      '365d',
      'Read the progress of every source all the same when that was last done longer ago than this. Of a survey that is over 12 times as long',
    ).prefault('7d'),
    dailyWindows: orNull(
      section({
        days: wholeNumber(
          1,
          60,
          'Also read the interviews that started on single days, for `survey_progress_by_day`: so many days up to today are read again and again, an older one once more. Off without this section',
        ).prefault(7),
        timeZone: setting('name of a time zone', readTimeZone, 'Whose days these are').prefault('UTC'),
        sources: yesOrNo('Read the days of each sample source as well').prefault(false),
      }),
    ),
  }).prefault({}),
  history: section({
    progressKeepAllForMs: setting(
      'duration, 0s to 36500d, or forever',
      durationOrForever('0s', '36500d'),
      'Every observation of progress is kept for this long; of older days only the last one. What is left out does not come back',
    ).prefault('forever'),
  }).prefault({}),
  limits: section({
    requestTimeoutMs: duration('100ms', '10m', 'How long one request may take').prefault('30s'),
    attemptsMax: wholeNumber(
      1,
      20,
      'Attempts a request before it counts as failed; answers 429 are not counted',
    ).prefault(6),
    backoffBaseMs: duration(
      '1ms',
      '1m',
      'Longest wait before the first retry; it doubles with each',
    ).prefault('500ms'),
    backoffMaxMs: duration('1ms', '1h', 'Longest wait before any retry; at least `backoff_base`').prefault(
      '60s',
    ),
    responseBytesMax: wholeNumber(1_024, 256 * MIB, 'Largest answer that is read, bytes').prefault(32 * MIB),
    rejectedRowsMax: wholeNumber(
      0,
      1_000_000_000,
      'More rejected rows than this in a run end it with exit 5; all good rows are kept',
    ).prefault(0),
    consecutiveFailuresMax: wholeNumber(
      1,
      1_000,
      'A run stops when this many surveys in a row failed',
    ).prefault(5),
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
