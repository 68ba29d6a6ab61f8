/** The parts that rows share: flags, and the reading of settings. */
import { LOG_LEVELS } from '../../base/log.js'
import { createStderr } from '../../logging/stderr.js'
import type { SettingsRequest } from '../../settings/load-settings.js'
import { SETTINGS_FILE_HERE } from '../../settings/names.js'
import type { Settings } from '../../settings/settings.js'
import type { CliContext, Command } from '../context.js'
import type { Flag, Flags } from '../flags.js'

export const text = (describe: string, more: Pick<Flag, 'values' | 'isList' | 'alias' | 'default'> = {}) =>
  ({ type: 'string', describe, ...more }) as const
export const option = (describe: string) => ({ type: 'boolean', describe }) as const

export const LOGGED = {
  'log-level': text('Log level on stderr: debug, info, warn, error or silent (default: info)', {
    values: LOG_LEVELS,
  }),
  json: option('Print one JSON document to stdout instead of text'),
} as const

/** Most values are text here. `src/settings` parses them, and reports wrong values. */
export const SETTINGS = {
  config: text(`Settings file (YAML) (default: ./${SETTINGS_FILE_HERE}, if it exists)`),
  warehouse: text('Directory of the warehouse; overrides the settings (default: ./warehouse)'),
  shard: text('Only the accounts of shard i/n, such as 0/4, in their own warehouse below --warehouse'),
  ...LOGGED,
} as const

export const ACCOUNTS = {
  accounts: text('Only these accounts of the settings file, such as acme,globex (default: all)', {
    isList: true,
  }),
} as const

export const ACCOUNT = {
  'base-url': text('Address of the service; it ends with /api/v1'),
  id: text('Identifier of the account'),
  'token-file': text('File that holds the secret token'),
} as const

/** Where a command writes. */
export const OUT = { alias: 'output' } as const

type Request = Omit<SettingsRequest, 'env' | 'signal' | 'flags' | 'mayFindFile'>

/** For commands that read only the published state. */
export const NO_ACCOUNTS: Request = { requireAccounts: false }

export const settingsOf = async (
  { env, signal, logsAs }: CliContext,
  flags: SettingsRequest['flags'],
  request: Request = {},
): Promise<Settings> => {
  const { loadSettings } = await import('../../settings/load-settings.js')
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

/** A row, whose `run` gets the values of its flags. */
export const command = <Of extends Flags>(row: Command<Of>): Command => row
