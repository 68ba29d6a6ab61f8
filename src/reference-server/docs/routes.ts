/** Serves the documentation of this server: `/_reference/openapi.json`, for programs and for viewers of OpenAPI. */
import type { FastifyPluginCallback } from 'fastify'
import { send } from '../answer.js'
import type { ServerContext } from '../api/routes.js'
import { formatHttpDate } from '../time.js'
import { openApiDocument } from './openapi.js'

export const docsRoutes =
  ({ organizations, clock, settings }: ServerContext): FastifyPluginCallback =>
  (app, _options, done) => {
    const [organization] = organizations
    if (organization === undefined) throw new Error('a reference server has an account')
    app.get('/openapi.json', (request, reply) => {
      // A `Host` that names another address than this server's has been refused.
      const origin = `http://${request.headers.host}`
      const at = clock.now()
      const body = openApiDocument(origin, { organization, at, settings })
      return send(request, reply, { status: 200, headers: {}, body, at })
    })
    app.get('/', (_request, reply) =>
      reply.header('date', formatHttpDate(clock.now())).redirect(`${app.prefix}/openapi.json`),
    )
    done()
  }
