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

export type EnvironmentValues = ReturnType<typeof readVariables>

/** Reads our variables; those of the account only when they are asked for. */
export const readEnvironment = (env: Environment, withAccount: boolean): Outcome<EnvironmentValues> => {
  const problems: Problem[] = []
  return { values: readVariables(env, withAccount, problems), problems }
}

const readVariables = (env: Environment, withAccount: boolean, problems: Problem[]) => {
  const read = <T>(name: VariableName, reader: Reader<T>, quotable = false): T | undefined => {
    const text = env[name]
    if (text === undefined) return undefined
    const outcome = text === '' ? undefined : reader(text)
    if (outcome?.ok) return outcome.value
    const problem =
      outcome === undefined
        ? 'is set but empty; give it a value or unset it'
        : `${outcome.problem}${quotable ? `, not ${quoted(text)}` : ''}`
    problems.push({ where: name, text: problem })
    return undefined
  }
  const ofAccount = <T>(name: VariableName, reader: Reader<T>) =>
    withAccount ? read(name, reader) : undefined
  return {
    /** Account variables that are set, right or wrong. */
    given: ACCOUNT_VARIABLES.filter((name) => withAccount && env[name] !== undefined),
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
