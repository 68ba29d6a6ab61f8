/**
 * The docs page: Swagger UI on the document of this server. Its files are read from an installed package when a browser
 * requests them. The page loads nothing from another host, and its policy makes browsers enforce that.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

/** Addresses on the page are relative to `/_reference/docs`. */
export const VIEWER_PAGE = `<!doctype html>
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
export const VIEWER_POLICY =
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

interface ViewerFile {
  readonly contentType: string
  read(): Promise<Buffer>
}

const CSS = 'text/css; charset=utf-8'
const JAVASCRIPT = 'text/javascript; charset=utf-8'

const require = createRequire(import.meta.url)

/** The files that the page loads, by name below `/_reference/docs/`. */
export const VIEWER_FILES: Readonly<Record<string, ViewerFile>> = {
  'swagger-ui.css': {
    contentType: CSS,
    read: () => readFile(require.resolve('@fastify/swagger-ui/static/swagger-ui.css')),
  },
  'swagger-ui-bundle.js': {
    contentType: JAVASCRIPT,
    read: () => readFile(require.resolve('@fastify/swagger-ui/static/swagger-ui-bundle.js')),
  },
  'start.js': { contentType: JAVASCRIPT, read: async () => Buffer.from(START) },
}
