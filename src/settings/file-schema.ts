/**
 * The settings file: every key with its reader, default and meaning, declared once. The reference in the README,
 * the suggestions for unknown keys and the test of the example file are all derived from this schema.
 */
import { z } from 'zod'
import { DEFAULT_WEIGHTS } from '../model/refresh-rules.js'
import { readAccountName, readBaseUrl, readId, readToken } from './credentials.js'
import {
  durationFrom,
  durationOrForever,
  listOf,
  oneOf,
  type Reader,
  readBoolean,
  readPath,
  readRatePer,
  readRateRequests,
  readTimeZone,
  wholeNumberFrom,
} from './readers.js'
import { CONTRACTS, PUBLISH_FORMATS } from './settings.js'
import { readRedisUrl, readWhileAway } from './shared-rate.js'

/** One key. `valueType` and `meaning` are what the reference says about it. */
const key = <T>(valueType: string, read: Reader<T>, meaning: string) =>
  z
    .unknown()
    .transform((value, context): T => {
      const outcome = read(value)
      if (outcome.ok) return outcome.value
      context.issues.push({ code: 'custom', message: outcome.problem, input: value })
      return z.NEVER
    })
    .meta({ valueType, description: meaning })

const duration = (min: string, max: string, meaning: string) =>
  key(`duration, ${min} to ${max}`, durationFrom(min, max), meaning)

const wholeNumber = (min: number, max: number, meaning: string) =>
  key(`whole number, ${min} to ${max}`, wholeNumberFrom(min, max), meaning)

const weight = (whose: string) =>
  wholeNumber(1, 100, `${whose}: what the time since the last refresh counts in the order of the queue`)

const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? undefined : 'must hold keys of its own, each on a line of its own',
  })

const MIB = 1_048_576
const ACCOUNTS_MAX = 100

const account = section({
  name: key(
    '1 to 64 of A-Z a-z 0-9 _ -',
    readAccountName,
    'Stands in the column `account` of every table; unique. Keep it: rows of another name are rows of another account',
  ).prefault('default'),
  base_url: key('URL', readBaseUrl, 'Address of the API, ends with `/api/v1`').optional(),
  id: key('whole number', readId, 'Identifier of the account, sent as `Authorization-ID`').optional(),
  token: key(
    'text',
    readToken,
    'Secret token, sent as `Authorization-Token`. Take it from the environment, or use `token_file`',
  ).optional(),
  token_file: key(
    'path',
    readPath,
    "File that holds the token instead; relative to the settings file's directory",
  ).optional(),
  rate_limit: section({
    requests: key(
      'whole number, 1 to 10000',
      readRateRequests,
      'Requests allowed in any window of `per`; support can raise it',
    ).prefault(60),
    per: key('duration, 100ms to 1h', readRatePer, 'Length of that window').prefault('60s'),
    shared: key(
      'URL of a Redis',
      readRedisUrl,
      'Where several processes use the same account at the same time: the Redis through which they share this cap, `redis://` or `rediss://`. Without it each warehouse takes the whole cap for itself',
    ).optional(),
    shared_unreachable: key(
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
})

export const fileSchema = section({
  accounts: z
    .array(account, { error: 'must be a list of accounts, each beginning with "- "' })
    .max(ACCOUNTS_MAX, `must hold at most ${ACCOUNTS_MAX} accounts`)
    .prefault([]),
  allow_insecure_http: key(
    'true or false',
    readBoolean,
    'Allow a token to be sent over plain http to another host than this one',
  ).prefault(false),
  warehouse: section({
    directory: key(
      'path',
      readPath,
      'Directory of the warehouse on this machine, without a `?` in its path; relative to the directory the command is started in',
    ).prefault('warehouse'),
  }).prefault({}),
  publish: key(
    `list of ${PUBLISH_FORMATS.join(', ')}`,
    listOf(...PUBLISH_FORMATS),
    'What is published for readers at the end of a run: `fieldwork.duckdb`, Parquet files under `parquet/current`, or both',
  ).prefault(['duckdb']),
  contract: key(
    CONTRACTS.join(' or '),
    oneOf(...CONTRACTS),
    'Unknown fields and values of the API: `evolve` stores and reports them, `freeze` also ends the run with exit 5',
  ).prefault('evolve'),
  discover: section({
    overlap: duration(
      '0s',
      '1d',
      "How far behind the server's clock the next listing starts; the surveys in between are read twice",
    ).prefault('5m'),
    full_listing_every: duration(
      '0s',
      '365d',
      'All surveys are listed when the last full listing is older than this, which finds the ones that are gone',
    ).prefault('7d'),
  }).prefault({}),
  refresh: section({
    settle_for: duration(
      '0s',
      '365d',
      'A complete survey is refreshed in every run for this long after its last change, then after 1, 2, 4, 8 … days, for as long as nothing moves',
    ).prefault('1d'),
    max_age: duration(
      '0s',
      '3650d',
      'Every survey but drafts and demos is refreshed at least this often',
    ).prefault('30d'),
    weights: section({
      fieldwork: weight('Surveys in field').prefault(DEFAULT_WEIGHTS.fieldwork),
      live: weight('Surveys of any other live status').prefault(DEFAULT_WEIGHTS.live),
      other: weight('All others').prefault(DEFAULT_WEIGHTS.other),
    }).prefault({}),
    list_sources_every: duration(
      '0s',
      '365d',
      "Read the list of a survey's sample sources when that was last done longer ago than this, or when the survey, its target or interviews of no known source say that it changed. Of a survey that is over 12 times as long",
    ).prefault('7d'),
    skip_unchanged: key(
      'true or false',
      readBoolean,
      "Skip the requests per sample source when the sources and the survey's progress equal what is stored",
    ).prefault(true),
    recheck_unchanged_after: duration(
      '0s',
      '365d',
      'Read the progress of every source all the same when that was last done longer ago than this. Of a survey that is over 12 times as long',
    ).prefault('7d'),
    daily_windows: section({
      days: wholeNumber(
        1,
        60,
        'Also read the interviews that started on single days, for `survey_progress_by_day`: so many days up to today are read again and again, an older one once more. Off without this section',
      ).prefault(7),
      time_zone: key('name of a time zone', readTimeZone, 'Whose days these are').prefault('UTC'),
      sources: key('true or false', readBoolean, 'Read the days of each sample source as well').prefault(
        false,
      ),
    }).optional(),
  }).prefault({}),
  history: section({
    progress_keep_all_for: key(
      'duration, 0s to 36500d, or forever',
      durationOrForever('0s', '36500d'),
      'Every observation of progress is kept for this long; of older days only the last one. What is left out does not come back',
    ).prefault('forever'),
  }).prefault({}),
  limits: section({
    request_timeout: duration('100ms', '10m', 'How long one request may take').prefault('30s'),
    attempts: wholeNumber(
      1,
      20,
      'Attempts a request before it counts as failed; answers 429 are not counted',
    ).prefault(6),
    backoff_base: duration('1ms', '1m', 'Longest wait before the first retry; it doubles with each').prefault(
      '500ms',
    ),
    backoff_max: duration('1ms', '1h', 'Longest wait before any retry; at least `backoff_base`').prefault(
      '60s',
    ),
    response_bytes_max: wholeNumber(1_024, 256 * MIB, 'Largest answer that is read, bytes').prefault(
      32 * MIB,
    ),
    rejected_rows_max: wholeNumber(
      0,
      1_000_000_000,
      'More rejected rows than this in a run end it with exit 5; all good rows are kept',
    ).prefault(0),
    consecutive_failures_max: wholeNumber(
      1,
      1_000,
      'A run stops when this many surveys in a row failed',
    ).prefault(5),
  }).prefault({}),
})

export type FileSettings = z.output<typeof fileSchema>
export type FileAccount = FileSettings['accounts'][number]
