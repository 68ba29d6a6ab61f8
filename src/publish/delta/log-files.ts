/** The objects of a Delta log: their keys, and which of them are older than anybody needs. Pure. */
import type { ListedObject } from '../../object-store/object-store.js'

export interface LogFile {
  readonly number: number
  readonly key: string
  readonly ageMs: number | null
}

/** Each in the order of the numbers. */
export interface LogFiles {
  readonly commits: readonly LogFile[]
  readonly checkpoints: readonly LogFile[]
}

/** How long a log shows earlier states, as long as manifests are kept. */
export const LOG_RETENTION_MS = 30 * 24 * 60 * 60 * 1000

const padded = (number: number): string => String(number).padStart(20, '0')

export const logPrefix = (directory: string): string => `${directory}/_delta_log/`
export const commitKey = (directory: string, number: number): string =>
  `${logPrefix(directory)}${padded(number)}.json`
export const checkpointKey = (directory: string, number: number): string =>
  `${logPrefix(directory)}${padded(number)}.checkpoint.parquet`
export const lastCheckpointKey = (directory: string): string => `${logPrefix(directory)}_last_checkpoint`

/** The log of a table among listed objects. */
export const logIn = (objects: readonly ListedObject[], directory: string): LogFiles =>
  logFilesOf(objects.filter(({ key }) => key.startsWith(logPrefix(directory))))

export const logFilesOf = (objects: readonly ListedObject[]): LogFiles => {
  const matching = (pattern: RegExp): readonly LogFile[] =>
    objects
      .flatMap(({ key, ageMs }) => {
        const digits = pattern.exec(key)?.[1]
        return digits === undefined ? [] : [{ number: Number(digits), key, ageMs }]
      })
      .toSorted((a, b) => a.number - b.number)
  return {
    commits: matching(/\/_delta_log\/(\d{20})\.json$/),
    checkpoints: matching(/\/_delta_log\/(\d{20})\.checkpoint\.parquet$/),
  }
}

/** The next commit has the number after the highest: a put to a removed number would succeed again. */
export const nextNumber = ({ commits, checkpoints }: LogFiles): number =>
  Math.max(-1, commits.at(-1)?.number ?? -1, checkpoints.at(-1)?.number ?? -1) + 1

/**
 * The files from which no reader starts any more: those below the newest checkpoint that is older than the retention. The oldest are
 * deleted first, and a file of unknown age ends it, so that no gap appears between retained files.
 */
export const outdatedKeys = ({ commits, checkpoints }: LogFiles): readonly string[] => {
  const isOld = ({ ageMs }: LogFile): boolean => ageMs !== null && ageMs > LOG_RETENTION_MS
  const limit = checkpoints.findLast(isOld)?.number ?? 0
  const below = [...commits, ...checkpoints]
    .filter(({ number }) => number < limit)
    .toSorted((a, b) => a.number - b.number)
  const firstKept = below.findIndex((file) => !isOld(file))
  return (firstKept === -1 ? below : below.slice(0, firstKept)).map(({ key }) => key)
}
