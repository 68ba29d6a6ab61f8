/** `fieldwork-sync reference-server` runs the local API until a signal stops it. */
import { once } from 'node:events'
import { EXIT_CODES } from '../../base/errors.js'
import { flagOf, OPTIONS } from '../../reference-server/option-texts.js'
import type { CliContext } from '../context.js'
import type { Flags, FlagValues } from '../flags.js'

/** The part of the context that this command needs. */
type ReferenceServerContext = Pick<CliContext, 'signal' | 'exit' | 'print'>

const flags: Flags = Object.fromEntries(
  Object.entries(OPTIONS).map(([name, { describe, default: text }]) => [
    flagOf(name),
    { type: 'string', describe, ...(text === null ? {} : { default: text }) },
  ]),
)

/** Prints one JSON line, `{"base_url", "accounts": [{"name", "id", "token"}]}`, and listens until the signal aborts. */
export const referenceServerCommand = {
  name: 'reference-server',
  describe: 'Run a local server that has the same API and generates its surveys',
  flags,
  run: async (context: ReferenceServerContext, given: FlagValues): Promise<void> => {
    const { startReferenceServerFromFlags } = await import('../../reference-server/server.js')
    const server = await startReferenceServerFromFlags(
      Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, given[flagOf(name)]])),
      context.signal,
    )
    try {
      await context.print(`${JSON.stringify({ base_url: server.baseUrl, accounts: server.accounts })}\n`)
      if (!context.signal.aborted) await once(context.signal, 'abort')
    } finally {
      await server.close()
    }
    context.exit(EXIT_CODES.complete)
  },
}
