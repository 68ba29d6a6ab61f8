/** Loads settings from a text instead of a file, and lists the problems found in it. */
import { inTimeZone, loadSettings, type SettingsRequest } from '../../../src/settings/load-settings.js'
import { SettingsError } from '../../../src/settings/problems.js'
import { settingsSchema } from '../../../src/settings/schema.js'
import type { Settings } from '../../../src/settings/settings.js'

/** The settings of an empty file, which tests change in what they are about. */
const VALUES = settingsSchema.parse({})
export const DEFAULTS = { ...VALUES, ...inTimeZone(VALUES) }

export const TOKEN = 'tok-3f9a-SECRET-77'

export const ACCOUNT_ENV = {
  FIELDWORK_SYNC_BASE_URL: 'https://fieldwork.example/api/v1',
  FIELDWORK_SYNC_API_ID: '17',
  FIELDWORK_SYNC_API_TOKEN: TOKEN,
}

export const ACCOUNT = `accounts:
  - name: acme
    base_url: https://fieldwork.example/api/v1
    id: 17
    token: ${TOKEN}
`

/** The lines of another account, which follow those of `ACCOUNT`. */
export const anotherAccount = (name: string, id = 18): string =>
  ACCOUNT.replace('accounts:\n', '').replace('acme', name).replace('id: 17', `id: ${id}`)

export interface Situation extends Partial<SettingsRequest> {
  /** Text of the settings file `/etc/fs/settings.yaml`; `--config` then has that path. */
  readonly yaml?: string
  readonly files?: Readonly<Record<string, string>>
}

export const load = async ({ yaml, files = {}, ...request }: Situation): Promise<Settings> => {
  const all: Readonly<Record<string, string>> =
    yaml === undefined ? files : { ...files, '/etc/fs/settings.yaml': yaml }
  return await loadSettings({
    env: {},
    signal: new AbortController().signal,
    readFile: (path) => {
      const text = all[path]
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
      return text
    },
    ...request,
    flags: { ...(yaml === undefined ? {} : { config: '/etc/fs/settings.yaml' }), ...request.flags },
  })
}

/** Every problem as `where: text`; empty when the settings load. */
export const problemsOf = async (situation: Situation): Promise<readonly string[]> => {
  try {
    await load(situation)
    return []
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return error.problems.map(({ where, text }) => `${where.replace('/etc/fs/', '')}: ${text}`)
  }
}
