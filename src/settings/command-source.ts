/**
 * The values of environment and command line. A flag comes after its variable and overrides it. The variable of an account's
 * setting is not read if its flag is given. A flag for the token or its file replaces the variables of both.
 */
import type { Environment } from './environment.js'
import { type FlagName, flagText, SETTING_NAMES, type SettingName } from './names.js'
import type { Path, Tree } from './tree.js'

/** The flags of the command line; absent or undefined = not given. */
export type Flags = Readonly<Partial<Record<FlagName, Tree>>> & {
  /** The name of one account of the settings file. */
  readonly account?: string | undefined
  /** The names of several accounts: `acme,globex`. */
  readonly accounts?: string | undefined
}

export interface Given {
  /** Path in the settings; for a setting of an account, path in the account. */
  readonly path: Path
  readonly value: Tree
  /** The name of the flag or variable. */
  readonly where: string
  readonly ofAccount: boolean
  /** Whether the variable is set but empty, which is not a value: templates and shells often leave a variable empty. */
  readonly isEmpty: boolean
}

/** The settings that give the token of an account. A source with one of them replaces both in the sources that it overrides. */
export const TOKEN_KEYS: readonly string[] = ['token', 'token_file']

export const readGiven = (env: Environment, flags: Flags): readonly Given[] => {
  const isTokenFlag = SETTING_NAMES.some((name) => isToken(name) && givenBy(name, flags) !== undefined)
  return SETTING_NAMES.flatMap((name): readonly Given[] => {
    const { path, flag, variable = '', ofAccount = false } = name
    const [byFlag, text] = [givenBy(name, flags), env[variable]]
    const isReplaced = ofAccount && (byFlag !== undefined || (isTokenFlag && isToken(name)))
    const given = (value: Tree, where: string, isEmpty: boolean): readonly Given[] =>
      value === undefined ? [] : [{ path, value, where, ofAccount, isEmpty }]
    return [
      ...given(isReplaced ? undefined : text, variable, text === ''),
      ...given(byFlag, flagText(flag ?? ''), false),
    ]
  })
}

const givenBy = ({ flag }: SettingName<FlagName>, flags: Flags): Tree =>
  flag === null ? undefined : flags[flag]

const isToken = ({ path, ofAccount }: SettingName): boolean =>
  ofAccount === true && TOKEN_KEYS.includes(String(path[0]))
