/**
 * The flags that several commands have; those of one command are in its `command.ts`. Most values are text here; `src/settings`
 * parses them and reports wrong ones.
 */
import { LOG_LEVELS } from '../base/log.js'

export const text = (describe: string) => ({ type: 'string', describe }) as const

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

/** Of `check`, and of the checks that `init` makes. */
export const checkOptions = { ...accountsOption, ...settingsOptions } as const

/** For `sync`, and for `plan`, which shows what it would do. */
export const fullOption = {
  full: { type: 'boolean', describe: 'List all surveys, not only those modified since the last run' },
} as const

/** For commands that get an account without a settings file. */
export const accountOptions = {
  'base-url': text('Address of the service; it ends with /api/v1'),
  id: text('Identifier of the account'),
  'token-file': text('File that holds the secret token'),
} as const
