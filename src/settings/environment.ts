/**
 * The environment: enough to run without a settings file, and the layer over one. Nothing else in the project
 * reads `process.env`. Other FIELDWORK_SYNC_… names are left alone: clusters inject some of their own.
 */
import { readBaseUrl, readId, readToken } from './credentials.js'
import type { Environment } from './interpolate.js'
import { type Outcome, type Problem, quoted } from './problems.js'
import { oneOf, type Reader, readPath, readRate } from './readers.js'
import { LOG_LEVELS } from './settings.js'

/** A copy of the environment of this process. */
export const processEnvironment = (): Environment => ({ ...process.env })

export const ENVIRONMENT_VARIABLES = [
  {
    name: 'FIELDWORK_SYNC_CONFIG',
    sets: '`--config`',
    meaning: 'Path of the settings file; without it there is none',
  },
  { name: 'FIELDWORK_SYNC_BASE_URL', sets: '`base_url` of the account', meaning: 'Address of the API' },
  { name: 'FIELDWORK_SYNC_API_ID', sets: '`id` of the account', meaning: 'Identifier of the account' },
  { name: 'FIELDWORK_SYNC_API_TOKEN', sets: '`token` of the account', meaning: 'Secret token' },
  {
    name: 'FIELDWORK_SYNC_API_TOKEN_FILE',
    sets: '`token_file` of the account',
    meaning: 'File that holds the token instead; relative to the directory the command is started in',
  },
  {
    name: 'FIELDWORK_SYNC_RATE_LIMIT',
    sets: '`rate_limit` of the account',
    meaning: 'Requests per window, such as `60/60s`',
  },
  { name: 'FIELDWORK_SYNC_WAREHOUSE', sets: '`warehouse.directory`', meaning: 'Directory of the warehouse' },
  {
    name: 'FIELDWORK_SYNC_LOG_LEVEL',
    sets: '`--log-level`',
    meaning: `${LOG_LEVELS.join(', ')}; the default is info`,
  },
] as const

export type VariableName = (typeof ENVIRONMENT_VARIABLES)[number]['name']

/** The variables that describe the one account they can describe. */
export const ACCOUNT_VARIABLES = [
  'FIELDWORK_SYNC_BASE_URL',
  'FIELDWORK_SYNC_API_ID',
  'FIELDWORK_SYNC_API_TOKEN',
  'FIELDWORK_SYNC_API_TOKEN_FILE',
  'FIELDWORK_SYNC_RATE_LIMIT',
] as const satisfies readonly VariableName[]

export type AccountVariable = (typeof ACCOUNT_VARIABLES)[number]

/** Two ways to say one thing. */
export const TOKEN_VARIABLES = ['FIELDWORK_SYNC_API_TOKEN', 'FIELDWORK_SYNC_API_TOKEN_FILE'] as const

export type EnvironmentValues = ReturnType<typeof readVariables>

/** Flags that stand above the variables of the account, for the commands that have them. */
export const ACCOUNT_FLAGS = {
  FIELDWORK_SYNC_BASE_URL: '--base-url',
  FIELDWORK_SYNC_API_ID: '--id',
  FIELDWORK_SYNC_API_TOKEN: '--token',
  FIELDWORK_SYNC_API_TOKEN_FILE: '--token-file',
  FIELDWORK_SYNC_RATE_LIMIT: '--rate-limit',
} as const satisfies Record<AccountVariable, string>

/** Their values as the command line gave them. */
export type AccountFlags = Readonly<Partial<Record<AccountVariable, string | undefined>>>

/** Reads our variables; those of the account only when they are asked for. */
export const readEnvironment = (
  env: Environment,
  withAccount: boolean,
  flags: AccountFlags = {},
): Outcome<EnvironmentValues> => {
  const problems: Problem[] = []
  return { values: readVariables(env, withAccount, flags, problems), problems }
}

const readVariables = (env: Environment, withAccount: boolean, flags: AccountFlags, problems: Problem[]) => {
  const ofFlags: Environment = flags
  // A token of either kind on the command line takes the place of both kinds in the environment.
  const isTokenFlag = TOKEN_VARIABLES.some((name) => flags[name] !== undefined)
  const ofEnvironment = (name: VariableName) =>
    isTokenFlag && TOKEN_VARIABLES.some((token) => token === name) ? undefined : env[name]
  const textOf = (name: VariableName) => ofFlags[name] ?? ofEnvironment(name)
  const label = (name: AccountVariable): string => (flags[name] === undefined ? name : ACCOUNT_FLAGS[name])
  const read = <T>(name: VariableName, reader: Reader<T>, quotable = false): T | undefined => {
    const text = textOf(name)
    if (text === undefined) return undefined
    const outcome = text === '' ? undefined : reader(text)
    if (outcome?.ok) return outcome.value
    const problem =
      outcome === undefined
        ? ofFlags[name] === undefined
          ? 'is set but empty; give it a value or unset it'
          : 'is empty; give it a value'
        : `${outcome.problem}${quotable ? `, not ${quoted(text)}` : ''}`
    const account = ACCOUNT_VARIABLES.find((one) => one === name)
    problems.push({ where: account === undefined ? name : label(account), text: problem })
    return undefined
  }
  const ofAccount = <T>(name: AccountVariable, reader: Reader<T>) =>
    withAccount ? read(name, reader) : undefined
  return {
    /** Account variables that are set, right or wrong, by their own name or by the flag above it. */
    given: ACCOUNT_VARIABLES.filter((name) => withAccount && textOf(name) !== undefined),
    /** What a problem with such a variable calls it. */
    label,
    config: read('FIELDWORK_SYNC_CONFIG', readPath),
    baseUrl: ofAccount('FIELDWORK_SYNC_BASE_URL', readBaseUrl),
    id: ofAccount('FIELDWORK_SYNC_API_ID', readId),
    token: ofAccount('FIELDWORK_SYNC_API_TOKEN', readToken),
    tokenFile: ofAccount('FIELDWORK_SYNC_API_TOKEN_FILE', readPath),
    rate: ofAccount('FIELDWORK_SYNC_RATE_LIMIT', readRate),
    warehouse: read('FIELDWORK_SYNC_WAREHOUSE', readPath),
    logLevel: read('FIELDWORK_SYNC_LOG_LEVEL', oneOf(...LOG_LEVELS), true),
  }
}

/**
 * Whether a terminal may get colours, and a line that redraws itself: it is one, it can do it, and NO_COLOR
 * is not set (colours only).
 */
export const terminalFeatures = (
  env: Environment,
  stream: { readonly isTTY?: boolean | undefined },
): { readonly colour: boolean; readonly redraw: boolean } => {
  const redraw = stream.isTTY === true && env.TERM !== 'dumb'
  return { redraw, colour: redraw && (env.NO_COLOR ?? '') === '' }
}
