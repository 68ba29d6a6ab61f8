/** `GET /_reference/openapi.json`: what this server is, for programs. No credentials, no cap. */
import type { FastifyPluginCallback, FastifyRequest } from 'fastify'
import { send } from '../answer.js'
import type { WorldClock } from '../time/world-clock.js'
import { openApiDocument } from './openapi.js'

export interface DocsContext {
  readonly clock: WorldClock
}

export const docsRoutes =
  ({ clock }: DocsContext): FastifyPluginCallback =>
  (app, _options, done) => {
    app.get('/openapi.json', (request, reply) =>
      send(request, reply, {
        status: 200,
        headers: {},
        body: openApiDocument(originOf(request)),
        at: clock.now(),
      }),
    )
    done()
  }

/** Under which address the server was reached, as the client tells; empty when what it tells is none. */
const originOf = (request: FastifyRequest): string => {
  const host = request.headers.host ?? ''
  return /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host) ? `http://${host}` : ''
}
