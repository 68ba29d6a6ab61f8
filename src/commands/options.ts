/** The flags of the commands. Most values are text here; `src/settings` parses them and reports wrong ones. */
import { LOG_LEVELS } from '../base/log.js'
import { PUBLISH_FORMATS } from '../model/publish-formats.js'

const text = (describe: string) => ({ type: 'string', describe }) as const

export const settingsOptions = {
  config: text('Settings file (YAML); optional if the environment has all settings'),
  warehouse: text('Directory of the warehouse; overrides the settings (default: ./warehouse)'),
  shard: text('Only the accounts of shard i/n, such as 0/4, in their own warehouse below --warehouse'),
  'log-level': {
    ...text('Log level on stderr: debug, info, warn, error or silent (default: info)'),
    values: LOG_LEVELS,
  },
  json: { type: 'boolean', describe: 'Print one JSON document to stdout instead of text' },
} as const

/** For commands that process the accounts of the settings. */
export const accountsOption = {
  accounts: text('Only these accounts of the settings file, such as acme,globex (default: all)'),
} as const

export const checkOptions = { ...accountsOption, ...settingsOptions } as const

export const syncOptions = {
  ...accountsOption,
  full: { type: 'boolean', describe: 'List all surveys, not only those modified since the last run' },
  'max-requests': text('Make at most this many requests; the next run reads the remaining surveys'),
  'max-duration': text('Finish within this time, such as 55m; the next run reads the remaining surveys'),
  publish: {
    ...text(
      `Formats to publish: ${PUBLISH_FORMATS.join(' or ')}, or several, such as ${PUBLISH_FORMATS.join(',')}`,
    ),
    values: PUBLISH_FORMATS,
    isList: true,
  },
  ...settingsOptions,
} as const

export const verifyOptions = {
  sample: text(
    'Compare this many surveys of each account (default: 20, or as many as --max-requests allows)',
  ),
  seed: text(
    'Choose the same surveys as the run that printed this seed, until the next sync (default: a new one)',
  ),
  local: {
    type: 'boolean',
    describe: 'Check only the published tables and files; makes no request to the API',
  },
  ...accountsOption,
  'max-requests': text('Make at most this many requests'),
  ...settingsOptions,
} as const

export const statusOptions = {
  requests: {
    type: 'boolean',
    describe: 'Show only the requests of the last run of each account, by reason and kind',
  },
  ...settingsOptions,
} as const

export const planOptions = {
  ...accountsOption,
  full: syncOptions.full,
  'max-requests': text('Show how many surveys fit into a run of this many requests'),
  'max-duration': text('Show how many surveys fit into a run of this length, such as 55m'),
  ...settingsOptions,
} as const

export const EXPORT_FORMATS = ['parquet', 'csv', 'xlsx'] as const

export const exportOptions = {
  format: {
    ...text('Format of the files: parquet, csv or xlsx, for Excel and LibreOffice (required)'),
    values: EXPORT_FORMATS,
  },
  out: text(
    'Directory to write (required); an earlier export there is replaced, other files are never deleted',
  ),
  tables: {
    ...text(
      'Tables and views to export, such as surveys,survey_overview,_sync.runs (default: all tables except those of _sync)',
    ),
    values: async () => {
      const { ALL_TABLES, tableName } = await import('../model/sync-tables.js')
      const { ALL_VIEWS } = await import('../warehouse/views/all.js')
      return [...ALL_TABLES, ...ALL_VIEWS].map(tableName)
    },
    isList: true,
  },
  bom: {
    type: 'boolean',
    describe:
      'For CSV that people open in Excel: begin with a byte order mark, and put an apostrophe before formulas and error values',
  },
  where: text(
    'Export only matching rows, such as "account = \'acme\'"; a table without these columns is exported whole',
  ),
  ...settingsOptions,
} as const

export const reportOptions = {
  out: text('File to write (required); an earlier report is replaced, any other file is not'),
  ...settingsOptions,
} as const

export const SCHEMA_FORMATS = ['sql', 'markdown', 'json', 'dbt'] as const

export const schemaOptions = {
  format: {
    ...text(`Output format: ${SCHEMA_FORMATS.join(', ')} (default: markdown)`),
    values: SCHEMA_FORMATS,
  },
  json: { type: 'boolean', describe: 'The same as --format json' },
} as const

const accountOptions = {
  'base-url': text('Address of the service; it ends with /api/v1'),
  id: text('Identifier of the account'),
  'token-file': text('File that holds the secret token'),
} as const

/** On a terminal, the texts of the first four are also the questions. */
export const initOptions = {
  ...accountOptions,
  warehouse: text('Where to put the warehouse: a directory, or a bucket such as s3://bucket/prefix'),
  out: { ...text('Settings file to write'), default: 'fieldwork-sync.yaml' },
  force: { type: 'boolean', describe: 'Replace the settings file if it exists' },
  'no-check': { type: 'boolean', describe: 'Only write the file, for a machine that cannot reach the API' },
  'log-level': settingsOptions['log-level'],
  json: settingsOptions.json,
} as const

export const conformanceOptions = {
  'base-url': accountOptions['base-url'],
  id: accountOptions.id,
  token: text('Secret token; other users of this machine can see it, so prefer --token-file'),
  'token-file': accountOptions['token-file'],
  'rate-limit': text('Requests per window that the service allows, such as 60/60s'),
  config: text('Settings file (YAML) with the account, instead of these flags'),
  account: text('Name of the account, if the settings file has several'),
  'max-requests': text(
    'Make at most this many requests (default: 90); rules that need more are reported as not observable',
  ),
  'exceed-cap': {
    type: 'boolean',
    describe: 'Also exceed the cap in one burst, by at most 5 requests, to check the answer 429',
  },
  'log-level': settingsOptions['log-level'],
  json: settingsOptions.json,
} as const

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completionOptions = {
  shell: { type: 'argument', describe: `The shell: ${SHELLS.join(', ')}`, values: SHELLS },
} as const
