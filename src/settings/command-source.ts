/**
 * What environment and command line give, the higher last: a flag stands above its variable. The flags of an account take the place
 * of its variables, which are then not read; either of the two for the token takes the place of both.
 */
import type { Environment } from './environment.js'
import { type FlagName, flagText, SETTING_NAMES, type SettingName } from './names.js'
import type { Path, Tree } from './tree.js'

/** The flags as the command line gave them; left out or undefined = not given. */
export type Flags = Readonly<Partial<Record<FlagName, Tree>>> & {
  /** One of several accounts of the settings file. */
  readonly account?: string | undefined
  /** Some of them: `acme,globex`. */
  readonly accounts?: string | undefined
}

export interface Given {
  /** In the settings; of an account's setting, in the account. */
  readonly path: Path
  readonly value: Tree
  /** The flag or variable. */
  readonly where: string
  readonly ofAccount: boolean
  /** Set in the environment and empty, which is no value: a template or a shell often leaves a variable so. */
  readonly isEmpty: boolean
}

/** The settings that are the token of an account: a source that gives one replaces both of the sources below it. */
export const TOKEN_KEYS: readonly string[] = ['token', 'token_file']

export const readGiven = (env: Environment, flags: Flags): readonly Given[] => {
  const isTokenFlag = SETTING_NAMES.some((name) => isToken(name) && flags[name.flag] !== undefined)
  return SETTING_NAMES.flatMap((name): readonly Given[] => {
    const { path, flag, variable = '', ofAccount = false } = name
    const [byFlag, text] = [flags[flag], env[variable]]
    const isReplaced = ofAccount && (byFlag !== undefined || (isTokenFlag && isToken(name)))
    const given = (value: Tree, where: string, isEmpty: boolean): readonly Given[] =>
      value === undefined ? [] : [{ path, value, where, ofAccount, isEmpty }]
    return [
      ...given(isReplaced ? undefined : text, variable, text === ''),
      ...given(byFlag, flagText(flag), false),
    ]
  })
}

const isToken = ({ path, ofAccount }: SettingName): boolean =>
  ofAccount === true && TOKEN_KEYS.includes(String(path[0]))
