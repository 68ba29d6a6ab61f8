/** `fieldwork-sync reference-server`: runs the local API until a signal comes. */
import { once } from 'node:events'
import type { CommandModule } from 'yargs'
import { EXIT_CODES } from '../base/errors.js'
import { OPTION_DEFAULTS } from '../reference-server/options.js'
import type { CliContext } from './support/context.js'

/** The part of the context that this command needs. */
interface ReferenceServerContext extends Pick<CliContext, 'signal' | 'exit'> {
  readonly stdout: NodeJS.WritableStream
}

/** Prints one JSON line, `{"base_url", "accounts": [{"name", "id", "token"}]}`, and listens until the signal aborts. */
export const referenceServerCommand = (context: ReferenceServerContext): CommandModule => ({
  command: 'reference-server',
  describe: 'Run a local server with the same API, on a made-up world',
  builder: {
    port: flag('Port to listen on; 0 takes any free one', OPTION_DEFAULTS.port),
    host: flag('Address to listen on', OPTION_DEFAULTS.host),
    seed: flag('The world grows from this number', OPTION_DEFAULTS.seed),
    surveys: flag('Surveys of each account at the start', OPTION_DEFAULTS.surveys),
    accounts: flag('Accounts, none of which sees another', OPTION_DEFAULTS.accounts),
    'page-size': flag('Records a page', OPTION_DEFAULTS.pageSize),
    'rate-limit': flag('Requests an account may make, per time', OPTION_DEFAULTS.rateLimit),
    'rate-window': flag('How they are counted: sliding, fixed or none', OPTION_DEFAULTS.rateWindow),
    'start-at': flag("Where the world's clock starts", OPTION_DEFAULTS.startAt),
    clock: flag('How fast it goes: real, frozen or a factor such as 600x', OPTION_DEFAULTS.clock),
  },
  handler: async (flags) => {
    const { startReferenceServerFromFlags } = await import('../reference-server/server.js')
    const server = await startReferenceServerFromFlags(flags)
    context.stdout.write(`${JSON.stringify({ base_url: server.baseUrl, accounts: server.accounts })}\n`)
    if (!context.signal.aborted) await once(context.signal, 'abort')
    await server.close()
    context.exit(EXIT_CODES.complete)
  },
})

const flag = (describe: string, defaultText: string) =>
  ({ type: 'string', requiresArg: true, describe, default: defaultText }) as const
