/**
 * The Delta logs that no run brings up to date any more, because `delta` was switched off or the table no longer exists. Such a log shows
 * its table as it was. It is removed before a file that it names is removed, and in any case some time after the last commit. So a reader
 * finds a whole table or none.
 */
import { descending, groups } from 'd3-array'
import type { ListedObject } from '../../object-store/object-store.js'
import type { LogState } from './log.js'
import { type LogFile, type LogFiles, logIn, logPrefix, UnusableLogError } from './read-log.js'

export interface LeftLogs {
  /** All objects below `data/`. */
  readonly objects: readonly ListedObject[]
  /** Our data files, and the ones that stay. */
  readonly own: readonly string[]
  readonly kept: readonly string[]
  /** The directories of the tables whose logs are up to date. */
  readonly followed: ReadonlySet<string>
  /** Reads the newest state of a log. */
  readonly readLog: (directory: string, files: LogFiles) => Promise<LogState>
  /** How long the logs stay after the last commit to any table, milliseconds. */
  readonly keepMs: number
}

/** The directories of the tables whose logs have to be removed. Only a directory with our data files has a log of ours. */
export const logsToRemove = async (left: LeftLogs): Promise<readonly string[]> => {
  const { objects, own, kept, followed, readLog, keepMs } = left
  const logs = [...new Set(own.map(tableDirectory))]
    .map((directory) => ({ directory, files: logIn(objects, directory) }))
    .filter(({ files }) => files.length > 0)
  const isOld = ({ ageMs, isCheckpoint }: LogFile): boolean =>
    isCheckpoint || (ageMs !== null && ageMs >= keepMs)
  const areAllOld = logs.every(({ files }) => files.every(isOld))
  const removed: string[] = []
  for (const { directory, files } of logs.filter((log) => !followed.has(log.directory))) {
    const state = areAllOld
      ? null
      : await readLog(directory, files).catch((error: unknown) => {
          // The files that a damaged log names are unknown, and no run repairs this log any more.
          if (error instanceof UnusableLogError) return null
          throw error
        })
    if (state === null || !namesOnly(kept, directory, state)) removed.push(directory)
  }
  return removed
}

const tableDirectory = (key: string): string => key.replace(/(\/account=.*)?\/[^/]+$/, '')

const namesOnly = (keys: readonly string[], directory: string, { files }: LogState): boolean => {
  const present = new Set(keys.map(encodeURI))
  return [...files.keys()].every((path) => present.has(`${encodeURI(directory)}/${path}`))
}

/**
 * The keys of these logs, group by group: the newest number of every log, then the number before it. A removal that ends after any group
 * leaves older states, which the next run removes. A file that others wrote for a number belongs to the group of the number.
 */
export const removalGroups = (objects: readonly ListedObject[], directories: readonly string[]) => {
  const removed: string[][] = []
  for (const directory of directories) {
    const prefix = logPrefix(directory)
    const keys = objects.map(({ key }) => key).filter((key) => key.startsWith(prefix))
    const numberOf = (key: string) =>
      /^(?:_last_checkpoint$|\d{20})/.exec(key.slice(prefix.length))?.[0] ?? ''
    // `_last_checkpoint` sorts after the digits, so it is the first to go.
    const byNumber = groups(keys, numberOf).toSorted(([one], [other]) => descending(one, other))
    for (const [index, [number, ofNumber]] of byNumber.entries())
      if (number !== '') removed[index] = [...(removed[index] ?? []), ...ofNumber]
  }
  return removed
}
