/** Where the warehouse is: a directory of this machine, under a path that DuckDB can take. */
import { resolve } from 'node:path'
import { type Outcome, type Problem, quoted } from './problems.js'
import { type Shard, shardDirectory } from './shards.js'

export interface WarehousePlace {
  /** As it was written. */
  readonly path: string
  /** What a problem with it is put behind: a flag, a variable, or a line of the settings file. */
  readonly where: string
  /** What a relative path starts from. */
  readonly workingDirectory: string
  readonly shard: Shard | null
}

/** The absolute path; that of the shard where there are shards. */
export const warehouseDirectoryOf = ({
  path,
  where,
  workingDirectory,
  shard,
}: WarehousePlace): Outcome<string> => {
  const directory = resolve(workingDirectory, path, ...(shard === null ? [] : [shardDirectory(shard)]))
  const problem = problemOf(path, directory)
  const problems: readonly Problem[] = problem === null ? [] : [{ where, text: problem }]
  return { values: directory, problems }
}

const problemOf = (path: string, directory: string): string | null => {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    return `must be a directory of this machine, not an address such as ${quoted(path)}`
  // DuckDB takes a "?" for the beginning of options, and would put its write-ahead log into another directory.
  return directory.includes('?')
    ? `must not have a "?" in its path, which is ${quoted(directory)}: DuckDB cannot open a file there. Name another directory`
    : null
}
