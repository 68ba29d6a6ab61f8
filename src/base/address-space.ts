/**
 * The limit of addresses that a process may use (`ulimit -v`). V8 and DuckDB reserve far more addresses than memory: WebAssembly, which
 * reads the answers of the API, reserves 10 GiB. A failure under the limit looks like a bug or a broken disk.
 */
import { readFileSync } from 'node:fs'

/** What to do about the limit; null without a limit. */
export const addressSpaceAdvice = (): string | null => {
  const bytes = limitBytes()
  return bytes === null
    ? null
    : `The address space of the process is limited to ${(bytes / 2 ** 30).toFixed(1)} GiB, which is too little: remove this limit (ulimit -v). A container can limit memory`
}

const limitBytes = (): number | null => {
  try {
    const [, bytes] = /^Max address space +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return bytes === undefined ? null : Number(bytes)
  } catch {
    // Only Linux has this file.
    return null
  }
}
