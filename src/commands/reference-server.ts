/** What `reference-server` does: runs the local API until a signal stops it. */
import { once } from 'node:events'
import { EXIT_CODES, ExpectedError, hasCode } from '../base/errors.js'
import { flagOf, OPTIONS } from '../reference-server/option-texts.js'
import type { CliContext } from './context.js'
import type { FlagValues } from './flags.js'

/** Prints one JSON line, `{"base_url", "accounts": [{"name", "id", "token"}]}`, and listens until the signal aborts. */
export const serve = async (
  { signal, print, exit }: Pick<CliContext, 'signal' | 'print' | 'exit'>,
  flags: FlagValues,
): Promise<void> => {
  const options = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, flags[flagOf(name)]]))
  const { startReferenceServer } = await loadServer()
  const server = await startReferenceServer(options, signal)
  try {
    await print(`${JSON.stringify({ base_url: server.baseUrl, accounts: server.accounts })}\n`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await server.close()
  }
  exit(EXIT_CODES.complete)
}

/** The image leaves its packages out. */
const loadServer = async () => {
  try {
    return await import('../reference-server/server.js')
  } catch (cause) {
    if (!hasCode(cause, 'ERR_MODULE_NOT_FOUND')) throw cause
    throw new ExpectedError(
      'installation_incomplete',
      'the packages of the reference server are not installed. Build the image with --build-arg REFERENCE_SERVER=with, or install fieldwork-sync from npm',
      { cause },
    )
  }
}
