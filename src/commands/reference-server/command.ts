/** `fieldwork-sync reference-server` runs the local API until a signal stops it. */
import { once } from 'node:events'
import type { CommandModule } from 'yargs'
import { EXIT_CODES } from '../../base/errors.js'
import { flagOf, OPTIONS } from '../../reference-server/options.js'
import type { CliContext } from '../context.js'

/** The part of the context that this command needs. */
interface ReferenceServerContext extends Pick<CliContext, 'signal' | 'exit'> {
  readonly stdout: NodeJS.WritableStream
}

/** Prints one JSON line, `{"base_url", "accounts": [{"name", "id", "token"}]}`, and listens until the signal aborts. */
export const referenceServerCommand = (context: ReferenceServerContext): CommandModule => ({
  command: 'reference-server',
  describe: 'Run a local server that has the same API and generates its surveys',
  builder: Object.fromEntries(
    Object.entries(OPTIONS).map(([name, { describe, default: text }]) => [
      flagOf(name),
      { type: 'string', requiresArg: true, describe, ...(text === null ? {} : { default: text }) } as const,
    ]),
  ),
  handler: async (flags) => {
    const { startReferenceServerFromFlags } = await import('../../reference-server/server.js')
    const server = await startReferenceServerFromFlags(flags)
    context.stdout.write(`${JSON.stringify({ base_url: server.baseUrl, accounts: server.accounts })}\n`)
    if (!context.signal.aborted) await once(context.signal, 'abort')
    await server.close()
    context.exit(EXIT_CODES.complete)
  },
})
