/** What `reference-server` does: runs the local API until a signal stops it. */
import { once } from 'node:events'
import { EXIT_CODES } from '../base/errors.js'
import { flagOf, OPTIONS } from '../reference-server/option-texts.js'
import { startReferenceServer } from '../reference-server/server.js'
import type { CliContext } from './context.js'
import type { FlagValues } from './flags.js'

/** Prints one JSON line, `{"base_url", "accounts": [{"name", "id", "token"}]}`, and listens until the signal aborts. */
export const serve = async (
  { signal, print, exit }: Pick<CliContext, 'signal' | 'print' | 'exit'>,
  flags: FlagValues,
): Promise<void> => {
  const options = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, flags[flagOf(name)]]))
  const server = await startReferenceServer(options, signal)
  try {
    await print(`${JSON.stringify({ base_url: server.baseUrl, accounts: server.accounts })}\n`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await server.close()
  }
  exit(EXIT_CODES.complete)
}
