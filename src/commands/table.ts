/**
 * The table of commands: what `--help` says about each, its flags, and the file that does it. Every start loads this file, so a row
 * checks the flags and reads the settings, and then loads its command with `import()`. The parameters of that file say which flags it gets.
 */
import { extname, resolve } from 'node:path'
import { systemClock } from '../base/clock.js'
import { LOG_LEVELS } from '../base/log.js'
import { createStderr } from '../logging/stderr.js'
import { PUBLISH_FORMATS } from '../model/publish-formats.js'
import { flagOf, OPTIONS } from '../reference-server/option-texts.js'
import type { SettingsRequest } from '../settings/load-settings.js'
import { SETTINGS_FILE_HERE } from '../settings/names.js'
import type { Settings } from '../settings/settings.js'
import type { CliContext, Command } from './context.js'
import { choiceOf, type Flag, type Flags, surveyNameOf, usageError } from './flags.js'

const text = (describe: string, more: Pick<Flag, 'values' | 'isList' | 'alias' | 'default'> = {}) =>
  ({ type: 'string', describe, ...more }) as const
const option = (describe: string) => ({ type: 'boolean', describe }) as const

const LOGGED = {
  'log-level': text('Log level on stderr: debug, info, warn, error or silent (default: info)', {
    values: LOG_LEVELS,
  }),
  json: option('Print one JSON document to stdout instead of text'),
} as const

/** Most values are text here; `src/settings` parses them and reports wrong ones. */
const SETTINGS = {
  config: text(`Settings file (YAML) (default: ./${SETTINGS_FILE_HERE}, if it exists)`),
  warehouse: text('Directory of the warehouse; overrides the settings (default: ./warehouse)'),
  shard: text('Only the accounts of shard i/n, such as 0/4, in their own warehouse below --warehouse'),
  ...LOGGED,
} as const

const ACCOUNTS = {
  accounts: text('Only these accounts of the settings file, such as acme,globex (default: all)', {
    isList: true,
  }),
} as const

const FULL = { full: option('List all surveys, not only those modified since the last run') } as const

const ACCOUNT = {
  'base-url': text('Address of the service; it ends with /api/v1'),
  id: text('Identifier of the account'),
  'token-file': text('File that holds the secret token'),
} as const

/** Where a command writes. */
const OUT = { alias: 'output' } as const
const REPORT_FILE = 'report.html'

/** On a terminal, the texts of the first four are also the questions. */
const INIT = {
  ...ACCOUNT,
  warehouse: text('Where to put the warehouse: a directory, or a bucket such as s3://bucket/prefix'),
  out: { ...text('Settings file to write', OUT), default: SETTINGS_FILE_HERE },
  force: option('Replace the settings file if it exists'),
  'no-check': option('Only write the file, for a machine that cannot reach the API'),
  ...LOGGED,
} as const

export const EXPORT_FORMATS = ['parquet', 'csv', 'xlsx'] as const
const SCHEMA_FORMATS = ['sql', 'markdown', 'json', 'dbt'] as const
const SHELLS = ['bash', 'zsh', 'fish'] as const

const QUERY_FORMATS = ['table', 'markdown', 'csv', 'json', 'parquet', 'xlsx'] as const

/** The format of a file, by the end of its name. */
const QUERY_FILES: Readonly<Record<string, (typeof QUERY_FORMATS)[number]>> = {
  '.txt': 'table',
  '.md': 'markdown',
  '.csv': 'csv',
  '.json': 'json',
  '.parquet': 'parquet',
  '.xlsx': 'xlsx',
}

/** A file whose name says another format, such as fieldwork.duckdb, is never replaced. */
const queryFormatOf = (given: string | undefined, out: string | undefined, flag: string) => {
  const problem = `--format must be one of ${QUERY_FORMATS.join(', ')}`
  const format = given === undefined ? null : choiceOf(given, QUERY_FORMATS, { command: 'query', problem })
  if (out === undefined) {
    if (format === 'parquet' || format === 'xlsx')
      throw usageError(`--format ${format} needs a file: --out rows.${format}`, 'query')
    return format ?? 'table'
  }
  const named = QUERY_FILES[extname(out).toLowerCase()]
  if (named === undefined)
    throw usageError(`--out ${out} must end in one of ${Object.keys(QUERY_FILES).join(', ')}`, 'query')
  if (format !== null && format !== named)
    throw usageError(`${flag} and --out ${out} exclude each other`, 'query')
  return named
}

const queryNames = async (): Promise<readonly string[]> =>
  (await import('./query/named.js')).NAMED_QUERIES.map(({ name }) => name)

const relationNames = async (): Promise<readonly string[]> => {
  const { ALL_TABLES, tableName } = await import('../model/sync-tables.js')
  const { ALL_VIEWS } = await import('../warehouse/views/all.js')
  return [...ALL_TABLES, ...ALL_VIEWS].map(tableName)
}

type Request = Omit<SettingsRequest, 'env' | 'signal' | 'flags' | 'mayFindFile'>

/** For commands that read what is published. */
const NO_ACCOUNTS: Request = { requireAccounts: false }

const settingsOf = async (
  { env, signal, logsAs }: CliContext,
  flags: SettingsRequest['flags'],
  request: Request = {},
): Promise<Settings> => {
  const { loadSettings } = await import('../settings/load-settings.js')
  const settings = await loadSettings({ ...request, mayFindFile: true, env, signal, flags })
  const { foundFile, warnings, log_level: level } = settings
  logsAs({ level })
  const isVerbose = level === 'info' || level === 'debug'
  const isQuiet = level === 'error' || level === 'silent'
  const notes = isVerbose && foundFile !== null ? [foundFile] : []
  const lines = isQuiet ? [] : [...notes, ...warnings]
  createStderr().write(lines.map((line) => `fieldwork-sync: ${line}\n`).join(''))
  return settings
}

/** The absolute path that `--out` names. */
const outOf = (out: string | undefined, command: string, what: string): string => {
  if (out === undefined || out === '') throw usageError(`${command} needs --out ${what}`, command)
  return resolve(out)
}

/** One row, whose `run` gets the values of its flags. */
const command = <Of extends Flags>(
  name: string,
  describe: string,
  flags: Of,
  run: Command<Of>['run'],
): Command => ({ name, describe, flags, run })

/** Every command, in the order of `--help`. */
export const COMMANDS: readonly Command[] = [
  command(
    'init',
    'Write a settings file and check it; on a terminal it asks for what the flags do not give, and creates the token file',
    INIT,
    async (context, { out = INIT.out.default, ...given }) =>
      (await import('./init.js')).init(context, { ...given, out }, INIT),
  ),
  command(
    'sync',
    'Read the changes of all accounts from the API, store them in the warehouse, and publish the tables',
    {
      ...ACCOUNTS,
      ...FULL,
      surveys: text('Read only these surveys, such as 4711,acme/815, with all sources; list nothing', {
        isList: true,
      }),
      'max-requests': text('Make at most this many requests; the next run reads the remaining surveys'),
      'max-duration': text('Finish within this time, such as 55m; the next run reads the remaining surveys'),
      publish: text(
        `Formats to publish: ${PUBLISH_FORMATS.join(' or ')}, or several, such as ${PUBLISH_FORMATS.join(',')}`,
        { values: PUBLISH_FORMATS, isList: true },
      ),
      ...SETTINGS,
    },
    async (context, { surveys, ...flags }) => {
      if (surveys !== undefined && flags.full === true)
        throw usageError('sync --surveys lists nothing: leave out --full', 'sync')
      const asked = surveys?.split(',').map((name) => surveyNameOf(name.trim(), 'sync', '--surveys'))
      const { monitoredCommand } = await import('./monitored-run.js')
      if (asked === undefined)
        return await monitoredCommand(context, 'sync', { flags }, () => import('./sync.js'))
      // A ping or metrics would say that a night took place.
      await monitoredCommand(context, 'sync --surveys', { flags, withReports: false }, async () => {
        const { render, run } = await import('./sync.js')
        return { render, run: (work) => run(work, asked) }
      })
    },
  ),
  command(
    'plan',
    'Show what the next sync would request, why, and how long that takes; makes no request to the API',
    {
      ...ACCOUNTS,
      ...FULL,
      'max-requests': text('Show how many surveys fit into a run of this many requests'),
      'max-duration': text('Show how many surveys fit into a run of this length, such as 55m'),
      ...SETTINGS,
    },
    async (context, given) => {
      const settings = await settingsOf(context, given)
      await (await import('./plan.js')).plan(context, settings)
    },
  ),
  command(
    'check',
    'Check the settings, the warehouse, and the address, id and token of each account with one request',
    { ...ACCOUNTS, ...SETTINGS },
    async (context, given) => (await import('./check.js')).check(context, given),
  ),
  command(
    'status',
    'Show whether the last night was complete, and the runs, the queue and what is wrong; or explain one survey; makes no request to the API',
    {
      survey: text(
        'Explain one survey, such as 4711 or acme/4711: why its data is so old, and when it is read next',
      ),
      requests: option('Show only the requests of the last run of each account, by reason and kind'),
      check: option('Print only the first line, and exit with the code of what it says: 0 to 7'),
      'max-age': text('Say LATE if no run was complete for this long (default: 26h)'),
      ...SETTINGS,
    },
    async (context, given) => {
      const unused = (['survey', 'check', 'max-age'] as const).find((name) => given[name] !== undefined)
      if (given.requests === true && unused !== undefined)
        throw usageError(`status --requests shows only requests: leave out --${unused}`, 'status')
      if (given.check === true && given.survey !== undefined)
        throw usageError('status --check is about all surveys: leave out --survey', 'status')
      const settings = await settingsOf(context, given, NO_ACCOUNTS)
      const { showRequests, showStatus } = await import('./status.js')
      if (given.requests === true) await showRequests(context, settings)
      else await showStatus(context, settings, given)
    },
  ),
  command(
    'verify',
    'Compare a sample of surveys with the API, field by field, and check the published tables and files',
    {
      sample: text(
        'Compare this many surveys of each account (default: 20, or as many as --max-requests allows)',
      ),
      seed: text(
        'Choose the same surveys as the run that printed this seed, until the next sync (default: a new one)',
      ),
      local: option('Check only the published tables and files; makes no request to the API'),
      ...ACCOUNTS,
      'max-requests': text('Make at most this many requests'),
      ...SETTINGS,
    },
    async (context, given) => {
      const startedMs = systemClock.monotonicMs()
      const isLocal = given.local === true
      const unused = (['sample', 'seed', 'accounts', 'max-requests'] as const).find(
        (name) => given[name] !== undefined,
      )
      if (isLocal && unused !== undefined)
        throw usageError(`verify --local makes no request: leave out --${unused}`, 'verify')
      const sample = given.sample === undefined ? null : sampleSizeOf(given.sample)
      const settings = await settingsOf(context, given, { requireAccounts: !isLocal })
      const { verify } = await import('./verify.js')
      await verify(context, { settings, isLocal, sample, seed: given.seed, startedMs })
    },
  ),
  command(
    'export',
    'Write published tables and views as Parquet, CSV or Excel files, all of one published state; also works while a sync runs',
    {
      format: text('Format of the files: parquet, csv or xlsx, for Excel and LibreOffice (required)', {
        values: EXPORT_FORMATS,
      }),
      out: text(
        'Directory to write (required); an earlier export there is replaced, other files are never deleted',
        OUT,
      ),
      tables: text(
        'Tables and views to export, such as surveys,survey_overview,_sync.runs (default: all tables except those of _sync, in a workbook after surveys_today and needs_action)',
        { values: relationNames, isList: true },
      ),
      bom: option(
        'For CSV that people open in Excel: begin with a byte order mark, and put an apostrophe before formulas and error values',
      ),
      ...SETTINGS,
    },
    async (context, given) => {
      const problem = `export needs --format ${EXPORT_FORMATS.join(' or --format ')}`
      const format = choiceOf(given.format, EXPORT_FORMATS, { command: 'export', problem })
      const out = outOf(given.out, 'export', 'DIR')
      const bom = given.bom === true
      if (bom && format !== 'csv') throw usageError('--bom is only for --format csv', 'export')
      const settings = await settingsOf(context, given, NO_ACCOUNTS)
      const { exportPublished } = await import('./export.js')
      const tables = given.tables?.split(',').flatMap((name) => name.trim() || []) ?? null
      await exportPublished(context, settings, { out, format, bom, tables })
    },
  ),
  command(
    'query',
    'Run SQL, or a query that has a name, on the published tables and views, and print the rows; only reads, and makes no request to the API',
    {
      query: {
        type: 'argument',
        describe: 'SQL, such as "FROM surveys_today"; or the name of a query; or - for SQL on stdin',
        values: queryNames,
      },
      list: option('Show the queries that have a name'),
      sql: option('Print the SQL instead of running it'),
      survey: text('Only this survey: its id, or acme/4711; SQL of your own uses it as $survey and $account'),
      days: text('Only the last days before the newest reading, such as 7; SQL of your own uses it as $days'),
      'max-duration': text('Stop the query after this time, such as 5m; 0 for no limit (default: 60s)'),
      format: text(`Format: ${QUERY_FORMATS.join(', ')} (default: by --out, or table)`, {
        values: QUERY_FORMATS,
      }),
      out: text(
        `File to write, which replaces an earlier one: ${Object.keys(QUERY_FILES).join(', ')}; Parquet and xlsx need it`,
        OUT,
      ),
      ...SETTINGS,
      json: option('The same as --format json'),
    },
    async (
      context,
      { query: asked, list, sql, format: given, out, json, 'max-duration': maxDuration, ...flags },
    ) => {
      const { listOfQueries, namedQueriesAsJson, query, sqlOfQuery } = await import('./query.js')
      if (list === true) {
        const isJson = json === true || given === 'json'
        return void (await context.print(isJson ? namedQueriesAsJson() : listOfQueries()))
      }
      if (asked === undefined)
        throw usageError('query needs SQL, or the name of a query: query --list shows them', 'query')
      if (sql === true) return void (await context.print(await sqlOfQuery(context, asked)))
      const format = queryFormatOf(
        json === true ? 'json' : given,
        out,
        json === true ? '--json' : `--format ${given}`,
      )
      const settings = await settingsOf(context, flags, NO_ACCOUNTS)
      const { survey, days } = flags
      const file = out === undefined ? null : resolve(out)
      await query(context, settings, { asked, format, out: file, survey, days, maxDuration })
    },
  ),
  command(
    'report',
    'Write one HTML page about the published surveys: what needs action, pace, forecasts, changes; makes no request to the API',
    {
      out: text('File to write; an earlier report is replaced, any other file is not', {
        ...OUT,
        default: REPORT_FILE,
      }),
      ...SETTINGS,
    },
    async (context, given) => {
      const out = outOf(given.out ?? REPORT_FILE, 'report', 'FILE')
      const settings = await settingsOf(context, given, NO_ACCOUNTS)
      await (await import('./report.js')).report(context, settings, out)
    },
  ),
  command(
    'replay',
    'After an upgrade, decode rejected rows again, and publish those that this version can type; makes no request to the API',
    SETTINGS,
    async (context, flags) => {
      const { monitoredCommand } = await import('./monitored-run.js')
      await monitoredCommand(context, 'replay', { flags, ...NO_ACCOUNTS }, () => import('./replay.js'))
    },
  ),
  command(
    'schema',
    'Describe the tables and views of every warehouse as SQL, a data dictionary, JSON, or dbt sources with tests',
    {
      format: text(`Output format: ${SCHEMA_FORMATS.join(', ')} (default: markdown)`, {
        values: SCHEMA_FORMATS,
      }),
      json: option('The same as --format json'),
    },
    async (context, { format: name, json = false }) => {
      const problem = `--format must be one of ${SCHEMA_FORMATS.join(', ')}`
      const given = name ?? (json ? 'json' : 'markdown')
      const format = choiceOf(given, SCHEMA_FORMATS, { command: 'schema', problem })
      if (json && format !== 'json')
        throw usageError(`--json and --format ${format} exclude each other`, 'schema')
      const { schemaAsDbt, schemaAsJson, schemaAsMarkdown, schemaAsSql } = await import('./schema.js')
      const schemaAs = { sql: schemaAsSql, markdown: schemaAsMarkdown, json: schemaAsJson, dbt: schemaAsDbt }
      await context.print(schemaAs[format]())
    },
  ),
  command(
    'conformance',
    'Check whether a service follows the rules of the API document; sends GET requests only',
    {
      'base-url': ACCOUNT['base-url'],
      id: ACCOUNT.id,
      token: text('Secret token; other users of this machine can see it, so prefer --token-file'),
      'token-file': ACCOUNT['token-file'],
      'rate-limit': text('Requests per window that the service allows, such as 60/60s'),
      config: text('Settings file (YAML) with the account, instead of these flags'),
      account: text('Name of the account, if the settings file has several'),
      'max-requests': text(
        'Make at most this many requests (default: 90); rules that need more are reported as not observable',
      ),
      'exceed-cap': option(
        'Also exceed the cap in one burst, by at most 5 requests, to check the answer 429',
      ),
      ...LOGGED,
    },
    async (context, given) => {
      const settings = await settingsOf(context, given, { oneAccount: true })
      await (await import('./conformance.js')).checkConformance(
        context,
        settings,
        given['exceed-cap'] === true,
      )
    },
  ),
  command(
    'reference-server',
    'Run a local server that has the same API and generates its surveys',
    Object.fromEntries(
      Object.entries(OPTIONS).map(([name, { describe, default: value }]): [string, Flag] => [
        flagOf(name),
        { ...text(describe), ...(value !== null && { default: value }) },
      ]),
    ),
    async (context, given) => (await import('./reference-server.js')).serve(context, given),
  ),
  command(
    'completion',
    `Print the script with which ${SHELLS.join(', ').replace(/, (?=\w+$)/, ' or ')} completes commands, flags, values and paths`,
    { shell: { type: 'argument', describe: `The shell: ${SHELLS.join(', ')}`, values: SHELLS } },
    async ({ print }, given) => {
      const problem = `completion needs a shell, one of ${SHELLS.join(', ')}`
      const shell = choiceOf(given.shell, SHELLS, { command: 'completion', problem })
      const { SCRIPTS } = await import('./completion.js')
      await print(SCRIPTS[shell])
    },
  ),
]

const SAMPLE_MAX = 1_000_000

const sampleSizeOf = (size: string): number => {
  const count = /^\d+$/.test(size) ? Number(size) : 0
  if (count < 1 || count > SAMPLE_MAX)
    throw usageError(`--sample ${size} is not a whole number from 1 to ${SAMPLE_MAX}`, 'verify')
  return count
}
