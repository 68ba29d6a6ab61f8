/** The flags of the command that are settings: the last word over file and environment. */
import type { AccountFlags } from './environment.js'
import { type Outcome, type Problem, quoted } from './problems.js'
import { durationFrom, listOf, oneOf, type Reader, readPath, wholeNumberFrom } from './readers.js'
import { LOG_LEVELS, PUBLISH_FORMATS } from './settings.js'
import { readShard } from './shards.js'

/** As the command line gave them; left out or undefined = not given. */
export interface Flags {
  readonly config?: string | undefined
  readonly warehouse?: string | undefined
  readonly full?: boolean | undefined
  readonly maxRequests?: string | number | undefined
  /** A duration such as `55m`. */
  readonly maxDuration?: string | undefined
  /** `duckdb,parquet`, or the items one by one. */
  readonly publish?: string | readonly string[] | undefined
  readonly logLevel?: string | undefined
  readonly json?: boolean | undefined
  /** Those of the one account, above its environment variables. */
  readonly baseUrl?: string | undefined
  readonly id?: string | undefined
  readonly token?: string | undefined
  readonly tokenFile?: string | undefined
  readonly rateLimit?: string | undefined
  /** One of several accounts of the settings file. */
  readonly account?: string | undefined
  /** Some of them: `acme,globex`. */
  readonly accounts?: string | undefined
  /** `i/n`. */
  readonly shard?: string | undefined
}

/** The flags that mean the same as an environment variable: `environment.ts` reads both. */
export const accountFlagsOf = (flags: Flags): AccountFlags => ({
  FIELDWORK_SYNC_BASE_URL: flags.baseUrl,
  FIELDWORK_SYNC_API_ID: flags.id,
  FIELDWORK_SYNC_API_TOKEN: flags.token,
  FIELDWORK_SYNC_API_TOKEN_FILE: flags.tokenFile,
  FIELDWORK_SYNC_RATE_LIMIT: flags.rateLimit,
})

export type FlagValues = ReturnType<typeof readEach>

export const readFlags = (flags: Flags): Outcome<FlagValues> => {
  const problems: Problem[] = []
  return { values: readEach(flags, problems), problems }
}

const readEach = (flags: Flags, problems: Problem[]) => {
  const read = <T>(name: string, value: unknown, reader: Reader<T>): T | undefined => {
    if (value === undefined) return undefined
    const outcome = reader(value)
    if (outcome.ok) return outcome.value
    const shown = typeof value === 'number' ? String(value) : quoted(value)
    problems.push({ where: `--${name}`, text: `${outcome.problem}, not ${shown}` })
    return undefined
  }
  return {
    config: read('config', flags.config, readPath),
    warehouse: read('warehouse', flags.warehouse, readPath),
    maxRequests: read('max-requests', flags.maxRequests, wholeNumberFrom(1, 1_000_000_000)),
    maxDurationMs: read('max-duration', flags.maxDuration, durationFrom('1s', '30d')),
    publish: read('publish', flags.publish, listOf(...PUBLISH_FORMATS)),
    shard: read('shard', flags.shard, readShard),
    logLevel: read('log-level', flags.logLevel, oneOf(...LOG_LEVELS)),
  }
}
