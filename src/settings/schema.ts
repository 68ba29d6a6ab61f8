/**
 * Declares every setting once, under its key in the settings file: its reader, default, bounds and meaning. Durations become milliseconds
 * when they are read. Types, docs/reference/settings.md, the suggestions of `settings-file.ts` for an unknown key, and the test of the
 * example file follow from it.
 */
import { z } from 'zod'
import { LOG_LEVELS } from '../base/log.js'
import { DEFAULT_ALARM_LEVELS } from '../model/alarms.js'
import { SURVEY_STATUSES } from '../model/fields.js'
import { FIRST_DIGESTS } from '../model/monitoring.js'
import {
  ADDRESSES,
  PUBLISH_FORMATS,
  PUBLISHED_AS,
  PUBLISHED_VIEWS,
  REPORT_FILE,
  STATE_FORMATS,
  VIEW_NAMES,
} from '../model/publish-formats.js'
import { DEFAULT_WEIGHTS } from '../rules/queue.js'
import {
  accountId,
  accountName,
  baseUrl,
  endpointUrl,
  fallback,
  mailAddress,
  mailAddresses,
  mailPassword,
  metricsFile,
  notifyUrl,
  pushgatewayUrl,
  redisUrl,
  regionName,
  reportUrl,
  secretToken,
  smtpUrl,
  storageUrl,
  surveyUrl,
} from './credentials.js'
import {
  durationFrom,
  durationOrForever,
  filePath,
  itemsOf,
  lineOfText,
  listOf,
  locale,
  namesOf,
  oneOf,
  partOrOff,
  rate,
  ratePer,
  rateRequests,
  timeZone,
  trueOrFalse,
  wholeNumberFrom,
} from './readers.js'
import { shardText } from './shards.js'

/**
 * A setting of the file. `valueType` is its type in the reference, and `describe` adds its meaning. `json` adds to the JSON schema what a
 * transform hides.
 */
const setting = <Schema extends z.ZodType>(schema: Schema, valueType: string, json: object = {}) =>
  schema.meta({ valueType, ...json })

const list = (items: object) => ({ type: 'array', items, uniqueItems: true })

const DURATION = { pattern: '^\\d+(ms|s|m|h|d)$' }

const duration = (byDefault: string, min: string, max: string) =>
  setting(durationFrom(min, max), `duration, ${min} to ${max}`, DURATION).prefault(byDefault)

const wholeNumber = (byDefault: number, min: number, max: number) =>
  setting(wholeNumberFrom(min, max), `whole number, ${min} to ${max}`).prefault(byDefault)

const yesOrNo = () => setting(trueOrFalse(), 'true or false')

const choice = <const T extends readonly string[]>(byDefault: T[number], choices: T) =>
  setting(oneOf(...choices), choices.join(' or ')).prefault(byDefault as z.input<ReturnType<typeof oneOf<T>>>)

/** Keys that belong together. With `prefault({})`, an absent section gets the defaults of all its keys. */
const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object(shape, { error: `must be a section with keys such as ${someKeys(shape)}, one per line` })

const someKeys = (shape: z.ZodRawShape): string => Object.keys(shape).slice(0, 2).join(' and ')

/** A setting that is null if it is absent. */
const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.optional().transform((value) => value ?? null)

/** `evolve` only reports drift of the API's answers; `contract: freeze` also leads to exit 5. */
const CONTRACTS = ['evolve', 'freeze'] as const

const weight = (byDefault: number, surveys: string) =>
  wholeNumber(byDefault, 1, 100).describe(
    `Weight of ${surveys} in the queue: it multiplies the time since their last refresh`,
  )

const alarmLevel = (byDefault: number, when: string) =>
  setting(partOrOff(), 'number above 0, up to 1, or false')
    .prefault(byDefault)
    .describe(`${when}. \`false\`: no alarm`)

const notified = (when: string) =>
  setting(notifyUrl, 'URL').optional().describe(`${when}. The address is a secret`)

const fileWith = (key: string) =>
  setting(filePath, 'path')
    .optional()
    .describe(
      `File that holds the address, instead of \`${key}\`; relative to the directory of the settings file`,
    )

const MIB = 1_048_576
const ACCOUNTS_MAX = 2_000

const account = section({
  name: setting(accountName, '1 to 64 of A-Z a-z 0-9 _ -')
    .prefault('default')
    .describe(
      'Name of the account in the column `account` of every table; unique. Do not change it later: a new name is a new account',
    ),
  base_url: setting(baseUrl, 'URL').optional().describe('Address of the API; ends with `/api/v1`'),
  id: setting(accountId, 'whole number', { type: ['integer', 'string'] })
    .optional()
    .describe('Identifier of the account, sent as `Authorization-ID`'),
  token: setting(secretToken, 'text')
    .optional()
    .describe(
      'Secret token, sent as `Authorization-Token`. Take it from the environment, or use `token_file`',
    ),
  token_file: setting(filePath, 'path')
    .optional()
    .describe(
      'File that holds the token, instead of `token`; relative to the directory of the settings file',
    ),
  rate_limit: section({
    requests: setting(rateRequests, 'whole number, 1 to 10000')
      .prefault(60)
      .describe("Requests allowed in any window of `per`; the API's support can raise this cap"),
    per: setting(ratePer, 'duration, 100ms to 1h', DURATION)
      .prefault('60s')
      .describe('Length of that window'),
    shared: setting(redisUrl, 'URL of a Redis')
      .optional()
      .describe(
        'Redis through which several processes share the cap of an account that they use at the same time, `redis://` or `rediss://`. Without it each warehouse uses the whole cap',
      ),
    shared_fallback: setting(fallback, 'stop, a percentage such as 50%, or whole number, 1 to 10000')
      .prefault('stop')
      .describe(
        'What happens while that Redis is away: `stop` ends the run with exit 4. With a percentage of the cap, or a number of requests per window, this process goes on with that many requests. The fallbacks of all processes together must not exceed the cap',
      ),
  }).prefault({}),
  exclude: section({
    status: setting(
      namesOf('status value', SURVEY_STATUSES),
      'list of survey statuses',
      list({ enum: SURVEY_STATUSES }),
    )
      .prefault([])
      .describe('Surveys with these statuses are listed, but their sources and progress are not read'),
    surveys: setting(
      itemsOf('survey ids, such as [4711, 4712]', wholeNumberFrom(0, Number.MAX_SAFE_INTEGER)),
      'list of survey ids',
      list({ type: 'integer', minimum: 0 }),
    )
      .prefault([])
      .describe('The same for these surveys'),
    projects: setting(
      itemsOf('project ids as text, such as ["815", "P-12"]', filePath),
      'list of project ids',
      list({ type: 'string' }),
    )
      .prefault([])
      .describe('The same for surveys of these projects; put numbers in quotes'),
  }).prefault({}),
  /** `rate_limit` as one text, which overrides it. */
  rate: rate.optional(),
})

export const settingsSchema = section({
  accounts: z
    .array(account, { error: 'must be a list of accounts, each beginning with "- "' })
    .max(ACCOUNTS_MAX, `must hold at most ${ACCOUNTS_MAX} accounts`)
    .prefault([]),
  allow_insecure_http: yesOrNo()
    .prefault(false)
    .describe('Allow tokens to be sent over plain http to other hosts'),
  warehouse: section({
    directory: setting(filePath, 'path')
      .prefault('warehouse')
      .describe(
        'Directory of the warehouse on this machine, without a `?` in its path; relative to the directory in which the command starts',
      ),
  }).prefault({}),
  storage: section({
    url: setting(storageUrl, 's3://bucket/prefix or az://container/prefix')
      .optional()
      .describe(
        'Bucket that holds the warehouse, and what its keys begin with. The directory of the warehouse is then a cache, which may be empty at the start of each run. Without it, that directory holds the warehouse',
      ),
    endpoint: setting(endpointUrl, 'URL')
      .optional()
      .describe(
        'Address of the server, if it is not AWS, or of an Azure account in another cloud; without path, such as `https://minio.internal:9000`',
      ),
    region: setting(regionName, 'text')
      .optional()
      .describe('Region of the bucket. Without it the region that the SDK finds, as in `AWS_REGION`'),
    path_style: yesOrNo()
      .optional()
      .describe(
        'Whether the bucket is in the path of the address instead of its host. Without it true if there is an endpoint',
      ),
  }).prefault({}),
  publish: section({
    formats: setting(
      listOf(...PUBLISH_FORMATS),
      `list of ${PUBLISH_FORMATS.join(', ')}`,
      list({ enum: PUBLISH_FORMATS }),
    )
      .prefault(['duckdb'])
      .describe(
        `Formats that are published for readers at the end of a run, one or several of ${STATE_FORMATS.map((format) => `${format} (\`${PUBLISHED_AS[format]}\`)`).join(', ')}, delta and ducklake (\`${ADDRESSES.ducklake}\`, both only in a bucket, beside parquet), report (\`${REPORT_FILE}\`, a page for people). Delete what a format that you remove has published: it stays as it was. In a bucket, Delta logs are removed after 30 days, and \`${ADDRESSES.duckdb}\` and \`${ADDRESSES.ducklake}\` after two. \`publish: [duckdb, parquet]\` is a short form of this key`,
      ),
    views: setting(namesOf('view', VIEW_NAMES), 'list of views', list({ enum: VIEW_NAMES }))
      .prefault([...PUBLISHED_VIEWS])
      .describe(
        'Views that parquet and delta publish too, in the same version as the tables; `[]` for none. A view that you remove is not in the next version. The database and ducklake always have all views',
      ),
  }).prefault({}),
  time_zone: setting(timeZone(), 'name of a time zone')
    .prefault('UTC')
    .describe(
      'Time zone of all days: of views, pace, forecast, due dates and `refresh.daily_windows`, and of the times in the report. If it is changed, the days of all stored readings are computed again',
    ),
  alarms: section({
    drop_out: alarmLevel(
      DEFAULT_ALARM_LEVELS.drop_out,
      'A survey needs action if at least this part of the interviews of the days of its pace were dropped',
    ),
    incidence: alarmLevel(
      DEFAULT_ALARM_LEVELS.incidence,
      'A survey needs action below this incidence in the days of its pace, or below 80 % of the incidence in its plan',
    ),
    quota_full: alarmLevel(
      DEFAULT_ALARM_LEVELS.quota_full,
      'A survey needs action if a full quota ended at least this part of the interviews of the days of its pace',
    ),
    rejected: alarmLevel(
      DEFAULT_ALARM_LEVELS.rejected,
      'A survey or a source needs action if at least this part of its complete interviews were rejected for their quality',
    ),
  }).prefault({}),
  contract: choice('evolve', CONTRACTS).describe(
    'Unknown fields and values of the API: `evolve` stores and reports them, `freeze` also ends the run with exit 5',
  ),
  discover: section({
    overlap: duration('5m', '0s', '1d').describe(
      "Overlap of listings: the next listing starts this long before the server's time at the start of the last one. Surveys modified in the overlap are listed twice",
    ),
    full_listing_every: duration('7d', '0s', '365d').describe(
      'After this time, the number of all surveys is compared with that of the known ones. If it differs, or 28 days (or this time, if it is longer) after the last full listing, all surveys are listed, which finds those that are gone',
    ),
  }).prefault({}),
  refresh: section({
    max_age: duration('365d', '0s', '3650d').describe(
      'A survey that is complete, a draft or a demo is read 1, 2, 4, 8 … days after its last change, and at least this often',
    ),
    weights: section({
      fieldwork: weight(DEFAULT_WEIGHTS.fieldwork, 'surveys in fieldwork'),
      active: weight(DEFAULT_WEIGHTS.active, 'surveys with any other active status'),
      other: weight(DEFAULT_WEIGHTS.other, 'all other surveys'),
    }).prefault({}),
    recheck_sources_after: duration('7d', '0s', '365d').describe(
      'The progress of sample sources is read when their list or the progress of their survey has changed, and for active surveys after this time in any case. With 0s it is read with every survey that is due',
    ),
    daily_windows: orNull(
      section({
        days: wholeNumber(7, 1, 60).describe(
          'Also read the interviews by the day on which they started, for `survey_progress_by_day`. This many days up to today are read repeatedly, an older day once more. Off without this section',
        ),
        sources: yesOrNo().prefault(false).describe('Read the days of each sample source as well'),
      }),
    ),
    reconstruct: yesOrNo()
      .prefault(true)
      .describe(
        'Also read the progress of surveys in fieldwork as of days before their first reading, once, after everything else, in at most ten requests each',
      ),
  }).prefault({}),
  history: section({
    progress_keep_all_for: setting(durationOrForever('0s', '36500d'), 'duration, 0s to 36500d, or forever', {
      type: 'string',
    })
      .prefault('forever')
      .describe(
        'Every observation of progress is kept for this long. For older days, only the last observation of each day is kept; the others are deleted for good',
      ),
  }).prefault({}),
  report: section({
    title: setting(lineOfText(), 'text of 1 to 100 characters')
      .prefault('Fieldwork report')
      .describe(
        'Title of the report, such as the name of the organization; the browser tab shows it with the date',
      ),
    locale: setting(locale(), 'BCP 47 language tag')
      .prefault('en-GB')
      .describe('Locale of the numbers and dates of the report, such as `de-DE`; its words are English'),
    survey_url: setting(surveyUrl, 'URL with {hashid}')
      .optional()
      .describe(
        'Where people open a survey in the service, such as `https://survey.example.com/surveys/{hashid}`; the report and digests have it as a link',
      ),
  }).prefault({}),
  plan: setting(filePath, 'path')
    .optional()
    .describe(
      'CSV file with what was planned and sold for surveys, projects and sources, such as due dates and incidence; relative to the directory of the settings file',
    ),
  limits: section({
    request_timeout: duration('30s', '100ms', '10m').describe('Longest time that one request may take'),
    attempts: wholeNumber(6, 1, 20).describe(
      'Attempts per request before it counts as failed; answers 429 do not count',
    ),
    patience: duration('15m', '0s', '1d').describe(
      'How long a run waits for an API that answers nothing, but never past `--max-duration`; `0s`: not at all. A request that fails while others are answered ends after its attempts',
    ),
    backoff_base: duration('500ms', '1ms', '1m').describe(
      'Longest wait before the first retry; it doubles with each further retry',
    ),
    backoff_max: duration('60s', '1ms', '1h').describe(
      'Longest wait before any retry; at least `backoff_base`',
    ),
    response_bytes_max: wholeNumber(32 * MIB, 1_024, 256 * MIB).describe('Size limit of an answer, bytes'),
    rejected_rows_max: wholeNumber(0, 0, 1_000_000_000).describe(
      'More rejected rows than this end a run with exit 5; all good rows are kept',
    ),
    consecutive_failures_max: wholeNumber(5, 1, 1_000).describe(
      'A run stops when this many surveys in a row have failed that did not fail in an earlier run',
    ),
    sources_per_survey_max: wholeNumber(25_000, 1, 100_000).describe(
      'Of a survey with more sources, only its own progress is read. 25,000 sources take seven hours at 60 requests a minute',
    ),
  }).prefault({}),
  metrics: section({
    file: setting(metricsFile, 'path that ends with .prom')
      .optional()
      .describe(
        'File that gets the metrics of each run, for the textfile collector of node-exporter; relative to the directory in which the command starts. With `--shard` each shard writes a file of its own beside it',
      ),
    pushgateway: setting(pushgatewayUrl, 'URL')
      .optional()
      .describe(
        'Pushgateway that gets the metrics of each run, such as `http://pushgateway:9091`; may end with `/metrics/job/NAME` and labels of the group',
      ),
    pushgateway_file: fileWith('pushgateway'),
  }).prefault({}),
  notify: section({
    start: notified('Requested when a run starts'),
    start_file: fileWith('start'),
    success: notified(
      'Requested when a run has ended with exit 0, or with exit 3 because of a budget or a signal alone',
    ),
    success_file: fileWith('success'),
    failure: notified('Requested when a run has ended with any other exit'),
    failure_file: fileWith('failure'),
    webhook: notified('Gets the report of each run when it has ended'),
    webhook_file: fileWith('webhook'),
    openlineage: section({
      url: setting(notifyUrl, 'URL')
        .optional()
        .describe(
          'OpenLineage endpoint, such as `https://marquez.example.com/api/v1/lineage`: gets an event when a run starts, and one when it has ended',
        ),
      url_file: fileWith('url'),
      token: setting(secretToken, 'text')
        .optional()
        .describe('Sent as `Authorization: Bearer`. Take it from the environment, or use `token_file`'),
      token_file: setting(filePath, 'path')
        .optional()
        .describe(
          'File that holds the token, instead of `token`; relative to the directory of the settings file',
        ),
      namespace: setting(lineOfText(), 'text')
        .prefault('fieldwork-sync')
        .describe('Namespace of the job in the events'),
    }).prefault({}),
    digest: section({
      report_url: setting(reportUrl, 'URL')
        .optional()
        .describe(
          'Where people open the report; each digest has it as a link, and each of its surveys one to its own section',
        ),
      first: choice('whole', FIRST_DIGESTS).describe(
        'The first digest of an account: all that needs action, or nothing (`silent`), so that only what is new from then on is sent',
      ),
      chat: notified('Slack, Mattermost or Google Chat: gets what newly needs action'),
      chat_file: fileWith('chat'),
      teams: notified('A Workflows webhook of Microsoft Teams: gets the same as an Adaptive Card'),
      teams_file: fileWith('teams'),
      mail: section({
        smtp: setting(smtpUrl, 'URL')
          .optional()
          .describe(
            'Mail server, such as `smtps://user@mail.example.com`; with `smtp://` it must offer STARTTLS, unless it is this machine or `allow_insecure_http` is true',
          ),
        password: setting(mailPassword, 'text')
          .optional()
          .describe('Password of the user in `smtp`. Take it from the environment, or use `password_file`'),
        password_file: setting(filePath, 'path')
          .optional()
          .describe(
            'File that holds the password, instead of `password`; relative to the directory of the settings file',
          ),
        from: setting(mailAddress, 'mail address')
          .optional()
          .describe('Sender, such as `Fieldwork <fieldwork@example.com>`'),
        to: setting(mailAddresses, 'list of mail addresses', {
          type: ['array', 'string'],
          items: { type: 'string' },
        })
          .optional()
          .describe('Who gets what newly needs action, with the report attached'),
      }).prefault({}),
    }).prefault({}),
  }).prefault({}),
  // The settings below concern one run, so the file cannot give them.
  config: orNull(filePath),
  log_level: oneOf(...LOG_LEVELS).prefault('info'),
  budget: section({
    requests_max: orNull(wholeNumberFrom(1, 1_000_000_000)),
    duration_max: orNull(durationFrom('1s', '30d')),
  }).prefault({}),
  shard: orNull(shardText),
  full: trueOrFalse().prefault(false),
  json: trueOrFalse().prefault(false),
})

export type SettingsValues = z.output<typeof settingsSchema>
export type AccountValues = SettingsValues['accounts'][number]
