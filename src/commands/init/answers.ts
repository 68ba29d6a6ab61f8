/** The answers that `init` needs, read by the rules of the settings, so that no rule exists twice. */
import { resolve } from 'node:path'
import { readTextFile } from '../../base/text-file.js'
import type { Environment } from '../../settings/environment.js'
import { loadSettings } from '../../settings/load-settings.js'
import { type Problem, SettingsError } from '../../settings/problems.js'
import type { Settings } from '../../settings/settings.js'
import { settingsText } from '../../settings/settings-text.js'
import { storageAddress } from '../../settings/storage.js'

export const QUESTIONS = ['base-url', 'id', 'warehouse', 'token-file'] as const
export type Question = (typeof QUESTIONS)[number]
export type Answers = Readonly<Record<Question, string>>

/** A token for a file that does not exist yet. */
export interface NewToken {
  /** Absolute path. */
  readonly path: string
  readonly text: string
}

/** Throws a `SettingsError` that names the flags of wrong answers. */
export const readAnswers = async (
  answers: Answers,
  newToken: NewToken | null,
  signal: AbortSignal,
): Promise<Settings> => {
  const { warehouse, ...account } = answers
  const isBucket = isAddress(warehouse)
  const env: Environment = isBucket ? { [STORAGE_VARIABLE]: warehouse } : {}
  const flags = isBucket ? account : { ...account, warehouse }
  const readFile = (path: string) => (path === newToken?.path ? newToken.text : readTextFile(path, signal))
  try {
    return await loadSettings({ env, flags, signal, readFile })
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const problems = error.problems.map((problem) =>
      problem.where === STORAGE_VARIABLE ? { ...problem, where: '--warehouse' } : problem,
    )
    throw new SettingsError(problems)
  }
}

/** The setting has no flag of its own. */
const STORAGE_VARIABLE = 'FIELDWORK_SYNC_STORAGE_URL'

const isAddress = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text)

/** Problems of the answers that the flags give. */
export const problemsOf = async (
  answers: Partial<Answers>,
  signal: AbortSignal,
): Promise<readonly Problem[]> => {
  try {
    await readAnswers(
      { ...VALID, ...answers },
      answers['token-file'] === undefined ? VALID_TOKEN : null,
      signal,
    )
    return []
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
}

/** Valid answers in place of missing ones, so that only the given answers can have problems. */
const VALID_TOKEN: NewToken = { path: resolve('token'), text: 'token' }
const VALID: Answers = {
  'base-url': 'https://host.example/api/v1',
  id: '1',
  warehouse: 'warehouse',
  'token-file': VALID_TOKEN.path,
}

/** The text of the settings file. Its paths are absolute, because the job may start in another directory. */
export const fileOf = (settings: Settings, tokenFile: string): string => {
  const [account] = settings.accounts
  if (account === undefined) throw new TypeError('settings without an account')
  const { storage, warehouseDirectory } = settings
  const values = new Map<string, string | number>([
    ['accounts[].name', account.name],
    ['accounts[].base_url', account.baseUrl],
    ['accounts[].id', account.id],
    ['accounts[].token_file', resolve(tokenFile)],
  ])
  if (storage === null) values.set('warehouse.directory', warehouseDirectory)
  else values.set('storage.url', storageAddress(storage))
  return settingsText(values)
}
