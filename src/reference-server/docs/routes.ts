/**
 * What this server is, for programs and for people: `GET /_reference/openapi.json`, and `GET /_reference/docs`, to
 * which `/_reference` leads. No credentials, no cap.
 */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { send } from '../answer.js'
import { ENDPOINTS } from '../api/endpoints.js'
import type { ReferenceServerSettings } from '../options.js'
import { formatHttpDate, formatUtc } from '../time/iso-time.js'
import type { WorldClock } from '../time/world-clock.js'
import type { Organization } from '../world/organization.js'
import { exampleOf } from './examples.js'
import { openApiDocument } from './openapi.js'
import { docsPage } from './page.js'

export interface DocsContext {
  readonly organizations: readonly Organization[]
  readonly clock: WorldClock
  readonly settings: ReferenceServerSettings
}

const DOCS = '/docs'

export const docsRoutes =
  ({ organizations, clock, settings }: DocsContext): FastifyPluginCallback =>
  (app, _options, done) => {
    app.get('/openapi.json', (request, reply) => {
      const body = openApiDocument(originOf(request))
      return send(request, reply, { status: 200, headers: {}, body, at: clock.now() })
    })
    app.get(DOCS, (request, reply) => {
      const at = clock.now()
      const origin = originOf(request)
      const [organization] = organizations
      const examples = ENDPOINTS.flatMap((endpoint) =>
        organization === undefined
          ? []
          : [
              [
                endpoint.operationId,
                exampleOf(endpoint, { organization, at, pageSize: settings.pageSize, origin }),
              ] as const,
            ],
      )
      return sendPage(
        reply.header('date', formatHttpDate(at)),
        docsPage({
          document: openApiDocument(origin),
          examples: Object.fromEntries(examples),
          settings: settingTexts(settings),
        }),
      )
    })
    app.get('/', (_request, reply) =>
      reply.header('date', formatHttpDate(clock.now())).redirect(`${app.prefix}${DOCS}`),
    )
    done()
  }

/** The page loads nothing and runs nothing; browsers are told to hold it to that. */
const sendPage = (reply: FastifyReply, page: string): FastifyReply =>
  reply
    .header('content-type', 'text/html; charset=utf-8')
    .header(
      'content-security-policy',
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    )
    .send(page)

/** Under which address the server was reached, as the client tells; where it tells none, the address that it is. */
const originOf = (request: FastifyRequest): string => {
  const { host } = request.headers
  const isHost = host !== undefined && /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host)
  return `http://${isHost ? host : `127.0.0.1:${request.socket.localPort}`}`
}

const settingTexts = (settings: ReferenceServerSettings): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)])),
  rateLimit: `${settings.rateLimit.requests}/${settings.rateLimit.perMs}ms`,
  ratePhase: `${settings.ratePhase}ms`,
  startAt: formatUtc(settings.startAt),
  clock: settings.clock.label,
  faults:
    typeof settings.faults === 'string' ? settings.faults : settings.faults === null ? 'none' : 'a list',
})
