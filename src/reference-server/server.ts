/**
 * Puts the parts of the reference server together and makes it listen. Its only state is the clock, the rate windows,
 * the faults and the request log.
 */
import { maxHeaderSize } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { ExpectedError, messageOf } from '../base/errors.js'
import { answerUnreadable, Refusal, refused, send } from './answer.js'
import { API_PREFIX } from './api/operation.js'
import { createAccountCap } from './api/rate-limit.js'
import { apiRoutes, noSuchPath, type ServerContext, serveNoRoute, undecodablePath } from './api/routes.js'
import { controlRoutes } from './control/operations.js'
import { refuseForeign } from './control/same-origin.js'
import { docsRoutes } from './docs/routes.js'
import { createFaults } from './faults/faults.js'
import { FaultsError, readFaultsFile } from './faults/read-faults.js'
import { type ReferenceServerOptions, type ReferenceServerSettings, readOptions } from './options.js'
import { createRequestLog } from './request-log.js'
import { createWorldClock } from './time.js'
import type { AccountIdentity } from './world/identities.js'
import { Organization } from './world/organization.js'

/** A running server. Closing it also ends open connections. */
export interface ReferenceServer extends AsyncDisposable {
  /** Ends with `/api/v1`. */
  readonly baseUrl: string
  /** The address alone, under which `/_reference/…` is found. */
  readonly origin: string
  readonly accounts: readonly Pick<AccountIdentity, 'name' | 'id' | 'token'>[]
  close(): Promise<void>
}

/**
 * Starts a server, with typed options or the text of flags. Throws an error `reference_server_options`, a `FaultsError` or an error
 * `reference_server_listen`; after an error nothing keeps running. `signal` ends a start that waits for the file of faults.
 */
export const startReferenceServer = async (
  options: Parameters<typeof readOptions>[0],
  signal?: AbortSignal,
): Promise<ReferenceServer> => {
  const settings = readOptions(options)
  const { app, accounts } = await assemble(settings, signal)
  const origin = await listen(app, settings)
  const close = async () => {
    await app.close()
  }
  return { baseUrl: `${origin}${API_PREFIX}`, origin, accounts, close, [Symbol.asyncDispose]: close }
}

/**
 * A server that listens nowhere: a caller injects requests into its `app`, and closes it when done. Throws an error
 * `reference_server_options` or a `FaultsError`.
 */
export const createUnlistenedServer = async (options: ReferenceServerOptions) =>
  await assemble(readOptions(options))

const assemble = async (settings: ReferenceServerSettings, signal = new AbortController().signal) => {
  const clock = createWorldClock(settings.startAt, settings.clock.factor)
  const log = createRequestLog()
  const organizations = Array.from(
    { length: settings.accounts },
    (_, account) =>
      new Organization(
        // The settings that determine the world have the names of the plan.
        { ...settings, account },
        settings.emptyRates,
      ),
  )
  const faults = createFaults({ seed: settings.seed, organizations, latest: clock.latest })
  const { faults: initialFaults } = settings
  if (typeof initialFaults === 'string')
    faults.replace(await readFaultsFile(initialFaults, signal), `${initialFaults}: `)
  else if (initialFaults !== null) faults.replace(initialFaults)
  const startMs = performance.now()
  const members = organizations.map((organization) => ({
    organization,
    admit: createAccountCap(settings, startMs),
  }))
  const context = { settings, organizations, members, clock, log, faults }
  const app = createApp(context)
  app.register(apiRoutes(context), { prefix: API_PREFIX })
  app.register(
    (beside, _options, done) => {
      beside.addHook('onRequest', async (request) => refuseForeign(request, settings.host))
      beside.register(controlRoutes(context))
      beside.register(docsRoutes(context))
      done()
    },
    { prefix: '/_reference' },
  )
  const accounts = organizations.map(({ identity: { name, id, token } }) => ({ name, id, token }))
  return { app, accounts }
}

const createApp = (context: ServerContext): FastifyInstance => {
  const { clock } = context
  const refuse = (request: FastifyRequest, reply: FastifyReply, refusal: Refusal) =>
    send(request, reply, refused(refusal, clock.now()))
  const app = Fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    // An id of any length reaches the route, which answers that there is no such survey.
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler: (error, socket) => answerUnreadable(error, socket, clock.now()),
    // A path that cannot be decoded reaches neither a route nor the not-found handler.
    frameworkErrors: (_error, request, reply) => {
      if (request.url.startsWith(`${API_PREFIX}/`)) serveNoRoute(context, request, reply)
      else refuse(request, reply, undecodablePath())
    },
  })
  // Bodies are read as text whatever their content type; only the routes under /_reference use them.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.setNotFoundHandler((request, reply) => refuse(request, reply, noSuchPath()))
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof Refusal) return refuse(request, reply, error)
    if (error instanceof FaultsError) return refuse(request, reply, new Refusal(400, error.message))
    const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
    return refuse(request, reply, new Refusal(status, messageOf(error)))
  })
  return app
}

const listen = async (app: FastifyInstance, { host, port }: ReferenceServerSettings): Promise<string> => {
  try {
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    const message = `--host ${host} --port ${port}: ${whyNotListening(error)}`
    throw new ExpectedError('reference_server_listen', message, { cause: error })
  }
  const address = app.server.address()
  const listening = address === null || typeof address === 'string' ? port : address.port
  return `http://${reachable(host)}:${listening}`
}

/** The host by which this machine reaches a server that listens on `host`. */
const reachable = (host: string): string => {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; stop what uses it, or give another --port (0 takes any free one).',
  EACCES: 'listening there is not permitted; give a --port above 1023.',
  EADDRNOTAVAIL: 'this machine has no such address; give another --host.',
  ENOTFOUND: 'no such host is known; give another --host.',
}

const whyNotListening = (cause: unknown): string => {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return REASONS[code] ?? `cannot listen (${messageOf(cause)}); give another --host or --port.`
}
