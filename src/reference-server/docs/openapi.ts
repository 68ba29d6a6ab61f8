/**
 * Makes the OpenAPI document of this server (3.1) from the declarations that parse requests and type answers. It is the
 * same for every world and every option, unless it is made for the docs page.
 */
import { packageVersion } from '../../base/version.js'
import { ENDPOINTS } from '../api/endpoints.js'
import { API_PREFIX } from '../api/operation.js'
import { CONTROL_OPERATIONS } from '../control/operations.js'
import { flagOf, OPTIONS } from '../option-texts.js'
import { CHOICES } from './choices.js'
import { documentSchemas, operationOf, valuesOf } from './operations.js'
import { exampleOf, type ServerState, settingTexts } from './this-server.js'

const API_TAG = 'API'
const CONTROL_TAG = 'Reference server'

/**
 * The document of a server that is reached at `origin`, such as `http://localhost:8080`. With `state`, it also says how
 * this server is set and has examples from its world.
 */
export const openApiDocument = (origin: string, state?: ServerState) => {
  const schemas = documentSchemas(valuesOf([...ENDPOINTS, ...CONTROL_OPERATIONS]))
  const endpoints = ENDPOINTS.map((endpoint) => {
    const example = state && exampleOf(endpoint, state)
    return [endpoint.path, { get: { tags: [API_TAG], ...operationOf(endpoint, schemas, example) } }]
  })
  const controls: Record<string, object> = {}
  for (const control of CONTROL_OPERATIONS) {
    const path = `/_reference${control.path}`
    const operation = { tags: [CONTROL_TAG], security: [], ...operationOf(control, schemas) }
    controls[path] = { servers: [{ url: origin }], ...controls[path], [control.method]: operation }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Survey fieldwork API, reference server',
      version: packageVersion(),
      description: state === undefined ? DESCRIPTION : `${DESCRIPTION}\n\n${settingsText(state)}`,
    },
    servers: [{ url: `${origin}${API_PREFIX}` }],
    security: [{ 'Authorization-ID': [], 'Authorization-Token': [] }],
    tags: [
      {
        name: API_TAG,
        description:
          'What the API document specifies: three operations, all reads. Every request carries both headers `Authorization-ID` and `Authorization-Token`',
      },
      { name: CONTROL_TAG, description: 'Controls of this server: no credentials, no cap' },
    ],
    paths: { ...Object.fromEntries(endpoints), ...controls },
    components: { schemas: schemas.named, headers: HEADERS, securitySchemes: SECURITY_SCHEMES },
  }
}

const INTRODUCTION =
  'Through this read-only REST API over JSON an organization reads its surveys, the sample sources of a survey, and the progress of its fieldwork. This server is a local stand-in for the service, for tests: a second implementation, written from the API document. Its world is made up, a pure function of its seed, its size, its start and its clock; no survey here is real.'

const DESCRIPTION = [
  INTRODUCTION,
  '## What this server chose',
  'The API document leaves these open. The service may do otherwise.',
  ...Object.entries(CHOICES).map(
    ([topic, sentences]) => `### ${topic}\n\n${sentences.map((sentence) => `- ${sentence}`).join('\n')}`,
  ),
  '## Options',
  'The flags of the command `reference-server`.',
  [
    '| Option | Default | Meaning |',
    '| --- | --- | --- |',
    ...Object.entries(OPTIONS).map(
      ([name, { default: usual, describe }]) =>
        `| \`--${flagOf(name)}\` | ${usual === null ? 'none' : `\`${usual}\``} | ${describe} |`,
    ),
  ].join('\n'),
].join('\n\n')

/** A block of JSON: no text of a setting can end it. */
const settingsText = ({ settings }: ServerState): string =>
  [
    'The settings of this server:',
    `\`\`\`json\n${JSON.stringify(settingTexts(settings), null, 2)}\n\`\`\``,
    'For programs, `/_reference/openapi.json` is this document without these settings and without examples: it is the same for every world.',
  ].join('\n\n')

const HEADERS = {
  Date: {
    description: "The world's time, which the answer describes",
    required: true,
    schema: { type: 'string' },
  },
  'Retry-After': {
    description:
      'How long to wait: whole seconds, or an HTTP date relative to `Date`. The option `--retry-after none` leaves it out',
    required: false,
    schema: { type: 'string' },
  },
  Allow: { description: 'The only method of this path', required: true, schema: { const: 'GET' } },
} as const

const SECURITY_SCHEMES = {
  'Authorization-ID': {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization-ID',
    description: "The caller's identifier, an integer",
  },
  'Authorization-Token': {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization-Token',
    description:
      "The caller's secret token: it must not be distributed on the client side or published in a code repository",
  },
} as const
