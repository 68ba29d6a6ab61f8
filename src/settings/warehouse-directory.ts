/** Where the warehouse is: a directory of this machine, under a path that DuckDB can take. */
import { quoted } from './problems.js'

/** Why there can be no warehouse in `directory`, which was written as `path`; null where there can. */
export const warehouseProblem = (path: string, directory: string): string | null => {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    return `must be a directory of this machine, not an address such as ${quoted(path)}`
  // DuckDB takes a "?" for the beginning of options, and would put its write-ahead log into another directory.
  return directory.includes('?')
    ? `must not have a "?" in its path, which is ${quoted(directory)}: DuckDB cannot open a file there. Name another directory`
    : null
}
