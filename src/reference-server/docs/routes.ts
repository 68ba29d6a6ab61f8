/**
 * Serves the documentation of this server: `GET /_reference/openapi.json` for programs and `GET /_reference/docs` for
 * people, to which `/_reference` redirects. No credentials, no cap.
 */
import type { FastifyPluginCallback, FastifyRequest } from 'fastify'
import { RawBody, send } from '../answer.js'
import type { ReferenceServerSettings } from '../options.js'
import { formatHttpDate } from '../time/iso-time.js'
import type { WorldClock } from '../time/world-clock.js'
import type { Organization } from '../world/organization.js'
import { openApiDocument } from './openapi.js'
import { VIEWER_FILES, VIEWER_PAGE, VIEWER_POLICY } from './viewer.js'

export interface DocsContext {
  readonly organizations: readonly Organization[]
  readonly clock: WorldClock
  readonly settings: ReferenceServerSettings
}

const DOCS = '/docs'

export const docsRoutes =
  ({ organizations, clock, settings }: DocsContext): FastifyPluginCallback =>
  (app, _options, done) => {
    const [organization] = organizations
    const get = (
      path: string,
      bodyFor: (request: FastifyRequest) => unknown,
      headers: Readonly<Record<string, string>> = {},
    ) =>
      app.get(path, async (request, reply) => {
        const body = await bodyFor(request)
        return send(request, reply, { status: 200, headers, body, at: clock.now() })
      })
    get('/openapi.json', (request) => openApiDocument(originOf(request)))
    get(DOCS, () => new RawBody(Buffer.from(VIEWER_PAGE), 'text/html; charset=utf-8'), {
      'content-security-policy': VIEWER_POLICY,
    })
    get(`${DOCS}/openapi.json`, (request) => {
      const origin = originOf(request)
      return openApiDocument(origin, organization && { organization, at: clock.now(), settings, origin })
    })
    for (const [name, { contentType, read }] of Object.entries(VIEWER_FILES)) {
      get(`${DOCS}/${name}`, async () => new RawBody(await read(), contentType))
    }
    app.get('/', (_request, reply) =>
      reply.header('date', formatHttpDate(clock.now())).redirect(`${app.prefix}${DOCS}`),
    )
    done()
  }

/** The address of the server by the client's header `Host`; without a valid one, the loopback address. */
const originOf = (request: FastifyRequest): string => {
  const { host } = request.headers
  const isHost = host !== undefined && /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host)
  return `http://${isHost ? host : `127.0.0.1:${request.socket.localPort}`}`
}
