/**
 * The reference server: the API of the API document, again, on a world of its own. Here its parts are put
 * together and set listening. It keeps no state but the clock, the rate windows, the faults and the request log.
 */
import { maxHeaderSize } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import { send } from './answer.js'
import { createAccountCap } from './api/account-cap.js'
import { ENDPOINTS } from './api/endpoints.js'
import { Refusal } from './api/refusal.js'
import { API_PREFIX, type ApiContext, apiRoutes, serveNoRoute, undecodablePath } from './api/routes.js'
import { controlRoutes } from './control/routes.js'
import { docsRoutes } from './docs/routes.js'
import { ListenError } from './errors.js'
import { FaultRegister } from './faults/fault-register.js'
import { readFaultsFile } from './faults/faults-file.js'
import { type ReferenceServerOptions, type ReferenceServerSettings, readOptions } from './options.js'
import { RequestLog } from './request-log.js'
import { WorldClock } from './time/world-clock.js'
import { answerUnreadable } from './unreadable-request.js'
import { Organization } from './world/organization.js'

/** A running server. Closing it ends open connections as well. */
export interface ReferenceServer extends AsyncDisposable {
  /** Ends with `/api/v1`. */
  readonly baseUrl: string
  /** The address alone: `/_reference/…` is found under it. */
  readonly origin: string
  readonly accounts: readonly ReferenceAccount[]
  close(): Promise<void>
}

interface ReferenceAccount {
  readonly name: string
  /** For the header Authorization-ID. */
  readonly id: number
  /** For the header Authorization-Token. */
  readonly token: string
}

/** Starts a server. Throws an `OptionsError`, a `FaultsError` or a `ListenError`; nothing is left behind then. */
export const startReferenceServer = async (options: ReferenceServerOptions): Promise<ReferenceServer> =>
  await startWith(readOptions({ ...options }))

/** The same from flags as text. */
export const startReferenceServerFromFlags = async (
  flags: Readonly<Record<string, unknown>>,
): Promise<ReferenceServer> => await startWith(readOptions(flags))

/** A server that listens nowhere: requests are handed to it one by one. The routes, the cap and the faults are the same. */
export interface UnlistenedServer {
  readonly app: FastifyInstance
  readonly accounts: readonly ReferenceAccount[]
}

/** Throws an `OptionsError` or a `FaultsError`. Close its `app` when done. */
export const createUnlistenedServer = async (options: ReferenceServerOptions): Promise<UnlistenedServer> =>
  await assemble(readOptions({ ...options }))

const startWith = async (settings: ReferenceServerSettings): Promise<ReferenceServer> => {
  const { app, accounts } = await assemble(settings)
  const origin = await listen(app, settings)
  const close = async () => {
    await app.close()
  }
  return { baseUrl: `${origin}${API_PREFIX}`, origin, accounts, close, [Symbol.asyncDispose]: close }
}

const assemble = async (settings: ReferenceServerSettings): Promise<UnlistenedServer> => {
  const monotonicMs = () => performance.now()
  const clock = new WorldClock(settings.startAt, settings.clock, monotonicMs)
  const log = new RequestLog()
  const organizations = Array.from(
    { length: settings.accounts },
    (_, account) =>
      new Organization(
        { seed: settings.seed, account, surveys: settings.surveys, startAt: settings.startAt },
        settings.emptyRates,
      ),
  )
  const paths = ENDPOINTS.map(({ path }) => path)
  const faults = new FaultRegister({ seed: settings.seed, organizations, paths, latest: clock.latest })
  await setFaults(faults, settings.faults)
  const startMs = monotonicMs()
  const members = organizations.map((organization) => ({
    organization,
    cap: createAccountCap(settings, startMs),
  }))
  const { pageSize, retryAfter } = settings
  const epochMs = performance.timeOrigin
  const api = { members, clock, monotonicMs, epochMs, log, pageSize, retryAfter, faults }
  const app = createApp(api)
  app.register(apiRoutes(api), { prefix: API_PREFIX })
  app.register(controlRoutes({ organizations, clock, log, faults }), { prefix: '/_reference' })
  app.register(docsRoutes({ organizations, clock, settings }), { prefix: '/_reference' })
  return {
    app,
    accounts: organizations.map(({ identity: { name, id, token } }) => ({ name, id, token })),
  }
}

const setFaults = async (faults: FaultRegister, given: ReferenceServerSettings['faults']): Promise<void> => {
  if (typeof given === 'string') faults.replace(await readFaultsFile(given), `${given}: `)
  else if (given !== null) faults.replace(given)
}

const createApp = (api: ApiContext): FastifyInstance => {
  const { clock } = api
  const refuse = (status: number, message: string, headers = {}) => ({
    status,
    headers,
    body: { error: message },
    at: clock.now(),
  })
  const app = Fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    // An id as long as it likes is an id that nothing has.
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler: (error, socket) => answerUnreadable(error, socket, clock.now()),
    // A path that cannot be decoded reaches no route, and no handler of paths that are not there.
    frameworkErrors: (_error, request, reply) => {
      const { status, message } = undecodablePath()
      if (request.url.startsWith(`${API_PREFIX}/`)) serveNoRoute(api, request, reply)
      else send(request, reply, refuse(status, message))
    },
  })
  // Bodies are read as text whatever they say they are: only those of /_reference are looked at.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.setNotFoundHandler((request, reply) => send(request, reply, refuse(404, 'there is no such path')))
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof Refusal)
      return send(request, reply, refuse(error.status, error.message, error.headers))
    const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
    const message = error instanceof Error ? error.message : 'unknown failure'
    return send(request, reply, refuse(status, message))
  })
  return app
}

const listen = async (app: FastifyInstance, { host, port }: ReferenceServerSettings): Promise<string> => {
  try {
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    throw new ListenError(host, port, error)
  }
  const address = app.server.address()
  const listening = address === null || typeof address === 'string' ? port : address.port
  return `http://${reachable(host)}:${listening}`
}

/** The address under which this machine reaches a server that listens on `host`. */
const reachable = (host: string): string => {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
