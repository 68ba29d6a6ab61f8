/**
 * Serves the documentation of this server: `/_reference/openapi.json` for programs, and `/_reference/docs` for people. The page is Swagger
 * UI. It loads nothing from another host, and its policy makes browsers enforce that.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyPluginCallback, FastifyRequest } from 'fastify'
import { send } from '../answer.js'
import type { ServerContext } from '../api/routes.js'
import { formatHttpDate } from '../time.js'
import { openApiDocument } from './openapi.js'

const DOCS = '/docs'

export const docsRoutes =
  ({ organizations, clock, settings }: ServerContext): FastifyPluginCallback =>
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
    get(DOCS, () => Buffer.from(VIEWER_PAGE), {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': VIEWER_POLICY,
    })
    get(`${DOCS}/openapi.json`, (request) => {
      const origin = originOf(request)
      return openApiDocument(origin, organization && { organization, at: clock.now(), settings })
    })
    for (const [name, type, read] of VIEWER_FILES)
      get(`${DOCS}/${name}`, read, { 'content-type': `text/${type}; charset=utf-8` })
    app.get('/', (_request, reply) =>
      reply.header('date', formatHttpDate(clock.now())).redirect(`${app.prefix}${DOCS}`),
    )
    done()
  }

/** The address by which the client reaches the server. A `Host` that names another has been refused. */
const originOf = ({ headers }: FastifyRequest): string => `http://${headers.host}`

/** Addresses on the page are relative to `/_reference/docs`. */
const VIEWER_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Survey fieldwork API, reference server</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<noscript>This page needs JavaScript. The document that it shows is <a href="openapi.json">openapi.json</a>.</noscript>
<div id="viewer"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

/** Images in `data:` addresses are allowed because the viewer's style sheet has some. */
const VIEWER_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const START = `SwaggerUIBundle({
  dom_id: '#viewer',
  url: 'docs/openapi.json',
  deepLinking: true,
  defaultModelExpandDepth: 3,
  showExtensions: true,
  validatorUrl: null,
})
`

const require = createRequire(import.meta.url)

/** A file of the viewer: the build copies it beside the bundle, and the sources read it from the package. */
const viewer = (name: string) => (): Promise<Buffer> => {
  const copied = new URL(`../viewer/${name}`, import.meta.url)
  if (existsSync(copied)) return readFile(copied)
  return readFile(join(dirname(require.resolve('@fastify/swagger-ui')), 'static', name))
}

const VIEWER_FILES = [
  ['swagger-ui.css', 'css', viewer('swagger-ui.css')],
  ['swagger-ui-bundle.js', 'javascript', viewer('swagger-ui-bundle.js')],
  ['start.js', 'javascript', () => Buffer.from(START)],
] as const
