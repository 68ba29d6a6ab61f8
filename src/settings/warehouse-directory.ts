/** Checks the directory of the warehouse: it must be on this machine, at a path that DuckDB can open. */
import { quoted } from './problems.js'

/** Why `directory`, written as `path` in the settings, cannot hold a warehouse; null if it can. */
export const warehouseProblem = (path: string, directory: string): string | null => {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    return `must be a directory of this machine, not an address such as ${quoted(path)}. For a bucket, set storage.url`
  // DuckDB reads a "?" as the beginning of options, and would put its write-ahead log into another directory.
  return directory.includes('?')
    ? `must not have a "?" in its path, which is ${quoted(directory)}: DuckDB cannot open a file there. Give another directory`
    : null
}
