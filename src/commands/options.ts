/** Flags that several commands share, worded once. All are text: `settings` reads them and says what is wrong. */

import type { InferredOptionTypes, Options } from 'yargs'
import { PUBLISH_FORMATS } from '../model/publish-formats.js'

/** What yargs makes of a set of options. */
export type FlagsOf<Of extends Record<string, Options>> = InferredOptionTypes<Of>

const text = (describe: string) => ({ type: 'string', requiresArg: true, describe }) as const

export const settingsOptions = {
  config: text('Settings file (YAML); without one the environment is enough'),
  warehouse: text('Directory of the warehouse; ./warehouse where nothing else is said'),
  shard: text('Shard i of n, such as 0/4: its accounts only, in a warehouse of its own below --warehouse'),
  'log-level': text(
    'How much is logged to stderr: debug, info, warn, error or silent; info where nothing is said',
  ),
  json: { type: 'boolean', describe: 'Print one JSON document to stdout instead of text' },
} as const

/** For commands that work on the accounts of the settings. */
export const accountsOption = {
  accounts: text('Only these accounts of the settings file, such as acme,globex; all where nothing is said'),
} as const

export const checkOptions = { ...settingsOptions, ...accountsOption } as const

export const syncOptions = {
  ...settingsOptions,
  ...accountsOption,
  full: { type: 'boolean', describe: 'List all surveys, not only those modified since the last run' },
  'max-requests': text('Stop before the run makes more requests than this; the rest stays queued'),
  'max-duration': text('Stop before the run takes longer than this, such as 55m; the rest stays queued'),
  publish: text(
    `What to publish: ${PUBLISH_FORMATS.join(' or ')}, or several such as ${PUBLISH_FORMATS.join(',')}`,
  ),
} as const

export const statusOptions = {
  ...settingsOptions,
  requests: {
    type: 'boolean',
    describe: 'Show where the requests of the last run went, and which were saved',
  },
} as const

export const planOptions = {
  ...settingsOptions,
  ...accountsOption,
  full: syncOptions.full,
  'max-requests': text('Show what fits into a run of so many requests'),
  'max-duration': text('Show what fits into a run of this length, such as 55m'),
} as const

export const EXPORT_FORMATS = ['parquet', 'csv'] as const

export const exportOptions = {
  format: text('Format of the files: parquet or csv'),
  out: text('Directory that is written, or replaced where it holds an export and nothing else'),
  tables: text('Tables, such as surveys,_sync.runs; all but those of _sync where nothing is said'),
  where: text(
    'Rows of every table that has the columns, such as "account = \'acme\'"; other tables are whole',
  ),
  ...settingsOptions,
} as const

export const SCHEMA_FORMATS = ['sql', 'markdown', 'json', 'dbt'] as const

export const schemaOptions = {
  format: text(`How they are told: ${SCHEMA_FORMATS.join(', ')}; markdown where nothing is said`),
  json: { type: 'boolean', describe: 'The same as --format json' },
} as const

export const conformanceOptions = {
  'base-url': text('Address of the service, ends with /api/v1'),
  id: text('Identifier of the account'),
  token: text('Secret token; other users of this machine can see it, so prefer --token-file'),
  'token-file': text('File that holds the secret token'),
  'rate-limit': text('Requests per time that the service allows, such as 60/60s'),
  config: text('Settings file (YAML) with the account, instead of these flags'),
  account: text('Which account of the settings file, where it has several'),
  'max-requests': text(
    'Make at most this many requests, 90 where nothing is said; what does not fit is not observable',
  ),
  'exceed-cap': {
    type: 'boolean',
    describe:
      'Also send one burst beyond the cap, to see the answer 429: at most 5 requests more than the cap',
  },
  'log-level': settingsOptions['log-level'],
  json: settingsOptions.json,
} as const
