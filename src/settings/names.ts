/**
 * The settings that environment and flags can give. Each entry has the path of the setting, the flag and the variable, which
 * docs/reference/settings.md describes. The schema reads these values like values of the file.
 */
import type { Environment } from './environment.js'
import type { Path, Tree } from './tree.js'

/** The file in the working directory that a command reads if neither flag nor variable names a file, and that `init` writes. */
export const SETTINGS_FILE_HERE = 'fieldwork-sync.yaml'

interface SettingName<Flag extends string = string> {
  /** Null if only the variable can give the setting. */
  readonly flag: Flag | null
  /** Path in the settings; for a setting of an account, path in the account. */
  readonly path: Path
  readonly variable?: string
  /** Whether it is a setting of an account: environment and flags can describe one account. */
  readonly ofAccount?: true
}

const NAMES = [
  { flag: 'config', path: ['config'], variable: 'FIELDWORK_SYNC_CONFIG' },
  { flag: 'base-url', path: ['base_url'], variable: 'FIELDWORK_SYNC_BASE_URL', ofAccount: true },
  { flag: 'id', path: ['id'], variable: 'FIELDWORK_SYNC_API_ID', ofAccount: true },
  { flag: 'token', path: ['token'], variable: 'FIELDWORK_SYNC_API_TOKEN', ofAccount: true },
  { flag: 'token-file', path: ['token_file'], variable: 'FIELDWORK_SYNC_API_TOKEN_FILE', ofAccount: true },
  { flag: 'rate-limit', path: ['rate'], variable: 'FIELDWORK_SYNC_RATE_LIMIT', ofAccount: true },
  { flag: 'warehouse', path: ['warehouse', 'directory'], variable: 'FIELDWORK_SYNC_WAREHOUSE' },
  { flag: null, path: ['storage', 'url'], variable: 'FIELDWORK_SYNC_STORAGE_URL' },
  { flag: 'log-level', path: ['log_level'], variable: 'FIELDWORK_SYNC_LOG_LEVEL' },
  { flag: 'max-requests', path: ['budget', 'requests_max'] },
  { flag: 'max-duration', path: ['budget', 'duration_max'] },
  { flag: 'publish', path: ['publish', 'formats'] },
  { flag: 'shard', path: ['shard'] },
  { flag: 'full', path: ['full'] },
  { flag: 'json', path: ['json'] },
] as const satisfies readonly SettingName[]

type FlagName = NonNullable<(typeof NAMES)[number]['flag']>
export const SETTING_NAMES: readonly SettingName<FlagName>[] = NAMES

/** The flags of the command line; absent or undefined = not given. */
export type GivenFlags = Readonly<Partial<Record<FlagName, Tree>>> & {
  /** The name of one account of the settings file. */
  readonly account?: string | undefined
  /** The names of several accounts: `acme,globex`. */
  readonly accounts?: string | undefined
}

export interface Override {
  /** Path in the settings; for a setting of an account, path in the account. */
  readonly path: Path
  readonly value: Tree
  /** The name of the flag or variable. */
  readonly where: string
  readonly ofAccount: boolean
  /** Whether the variable is set but empty, which is not a value: templates and shells often leave a variable empty. */
  readonly isEmpty: boolean
}

/**
 * The two settings that give the token of an account. If the environment or a flag gives one of the two, it replaces both settings of the
 * file.
 */
export const TOKEN_KEYS: readonly string[] = ['token', 'token_file']

/**
 * The values of environment and command line. A flag comes after its variable, and overrides it. If a flag gives a setting of an account,
 * the variable is not read. A flag for the token or the token file replaces the variables of both.
 */
export const readOverrides = (env: Environment, flags: GivenFlags): readonly Override[] => {
  const isTokenFlag = flags.token !== undefined || flags['token-file'] !== undefined
  return SETTING_NAMES.flatMap(({ path, flag, variable = '', ofAccount = false }): readonly Override[] => {
    const [byFlag, text] = [flag === null ? undefined : flags[flag], env[variable]]
    const isToken = ofAccount && TOKEN_KEYS.includes(String(path[0]))
    const isReplaced = ofAccount && (byFlag !== undefined || (isTokenFlag && isToken))
    const overrideOf = (value: Tree, where: string, isEmpty: boolean): readonly Override[] =>
      value === undefined ? [] : [{ path, value, where, ofAccount, isEmpty }]
    return [
      ...overrideOf(isReplaced ? undefined : text, variable, text === ''),
      ...overrideOf(byFlag, `--${flag}`, false),
    ]
  })
}
