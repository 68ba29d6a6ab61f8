/**
 * Makes the OpenAPI document of this server (3.1) from the declarations that parse requests and type answers. The document also has the
 * settings of this server, and examples from its world.
 */
import { z } from 'zod'
import { packageVersion } from '../../base/version.js'
import { errorBody } from '../answer.js'
import * as endpoints from '../api/endpoints.js'
import { API_PREFIX, type Endpoint, type Operation } from '../api/operation.js'
import * as control from '../control/operations.js'
import { flagOf, OPTIONS } from '../option-texts.js'
import type { ReferenceServerSettings } from '../options.js'
import { formatUtc, type Micros } from '../time.js'
import type { Organization } from '../world/organization.js'

interface ServerState {
  /** The account whose credentials the examples use. */
  readonly organization: Organization
  readonly at: Micros
  readonly settings: ReferenceServerSettings
}

const API_TAG = 'API'
const CONTROL_TAG = 'Reference server'

/** The choices of this server where the API document leaves something open. A choice on which clients could break is an option. */
export const CHOICES: Readonly<Record<string, readonly string[]>> = {
  Errors: [
    'Every error has the body `{"error": "<one sentence>"}`.',
    'A request is checked in this order: path and method (404, 405), credentials (401), rate cap (429), parameters (400), records (404).',
    'Missing or wrong credentials are 401, and so is a credentials header that is sent twice.',
    'An unknown survey, a survey of another account and a `SURVEY_ID` that is no number get the same 404; a sample source of another survey is also 404.',
    'A method other than GET is 405, including HEAD and OPTIONS; a path that ends with a slash is 404.',
    'A request line and headers of more than 16 KiB are 431; a path that cannot be decoded is 400, with any credentials.',
  ],
  Parameters: [
    'An invalid parameter is 400 and never ignored; parameters that the API document does not name are ignored.',
    'A parameter other than `status[]` that is given twice is 400. `status` and `status[]` may be mixed: the list has surveys with any of the values.',
    'Date-times must have an offset; digits past the microsecond are cut off. A plus sign is written `%2B` in a query.',
    '`page` goes from 1 to 999999999.',
  ],
  Lists: [
    'Records created in the same moment are sorted by `id`, descending. Sample sources are sorted like surveys.',
    'A page past the end is empty, with neither a next nor a previous page; an empty list has 0 pages.',
    'Each request divides the list into pages anew: a record that is created between two requests moves the others down.',
  ],
  Progress: [
    'Percentages run from 0 to 100, and are 0 where no interview is counted.',
    'A rate over zero interviews has no value, and neither has the length of an interview where none is complete. The option `--empty-rates` decides whether it is null, 0 or left out.',
    'The median of an even number of interviews is the mean of the two in the middle, rounded half up.',
    'An interview counts from its start, as incomplete until its end. `started_after` and `started_before` do not change `sample_size`.',
    'An interview that would be complete after its source has reached its target is `above_target`. Targets may be lowered later, so there can be more complete interviews than the target.',
    'Some interviews are `pending_analysis` for up to four days, until they are decided before the survey is complete; a few stay `pending_analysis`.',
    "Every interview belongs to one sample source, and a survey's `sample_size` is the sum of its sources'.",
  ],
  Changes: [
    "New interviews do not move a survey's `updated_at`, and neither do changes of its sample sources, which have their own `updated_at`. The option `--touch` lets either or both move it.",
    'In a survey that is draft, complete or user_demo, sample sources change only together with the survey. With the option `--source-changes free` they change at any time.',
    'No interview of a complete survey changes. With the option `--late-corrections`, up to three complete interviews of some are rejected later, which does not move `updated_at`.',
    'A sample source that was removed is no longer listed and is 404; its interviews no longer count.',
    'Offsets and the digits of seconds differ from record to record.',
  ],
  Limits: [
    'The cap counts the requests of each account in real time, whatever the world’s clock does. The options `--rate-limit` and `--rate-window` set it.',
    'Requests that are answered 429, 401 or 405, or 404 for their path, do not count against the cap; all others do.',
    'The option `--retry-after` decides whether answers 429 have `Retry-After` in seconds, as a date or not at all.',
  ],
  Answers: [
    '`Date` is the time of the world, and the whole answer describes that moment.',
    'Longer answers are compressed with gzip if `Accept-Encoding` allows it.',
  ],
}

/** The document of a server that is reached at `origin`, such as `http://localhost:8080`. */
export const openApiDocument = (origin: string, state: ServerState) => {
  const schemas = documentSchemas()
  const paths: Record<string, object> = {}
  for (const endpoint of endpoints.ENDPOINTS) {
    const example = exampleOf(endpoint, state, origin)
    paths[endpoint.path] = { get: { tags: [API_TAG], ...operationOf(endpoint, schemas, example) } }
  }
  for (const declared of control.CONTROL_OPERATIONS) {
    const path = `/_reference${declared.path}`
    const operation = { tags: [CONTROL_TAG], security: [], ...operationOf(declared, schemas) }
    paths[path] = { servers: [{ url: origin }], ...paths[path], [declared.method]: operation }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Survey fieldwork API, reference server',
      version: packageVersion(),
      description: `${DESCRIPTION}\n\n${settingsText(state)}`,
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
    paths,
    components: { schemas: schemas.named, headers: HEADERS, securitySchemes: SECURITY_SCHEMES },
  }
}

const DESCRIPTION = [
  'Through this read-only REST API over JSON an organization reads its surveys, the sample sources of a survey, and the progress of its fieldwork. This server is a local stand-in for the service, for tests: a second implementation, written from the API document. Its world is made up, a pure function of its seed, its size, its start and its clock; no survey here is real.',
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

/** The settings of this server by flag, in a block of JSON: no text of a setting can end it. */
const settingsText = ({ settings }: ServerState): string => {
  const { rateLimit, ratePhase, lateCorrections, startAt, clock, faults } = settings
  const texts = {
    ...settings,
    rateLimit: `${rateLimit.requests}/${rateLimit.perMs}ms`,
    ratePhase: `${ratePhase}ms`,
    lateCorrections: lateCorrections.label,
    startAt: formatUtc(startAt),
    clock: clock.label,
    faults: typeof faults === 'string' ? faults : faults === null ? 'none' : 'a list',
  }
  const flags = Object.entries(texts).map(([name, value]) => [`--${flagOf(name)}`, String(value)])
  return [
    'The settings of this server:',
    `\`\`\`json\n${JSON.stringify(Object.fromEntries(flags), null, 2)}\n\`\`\``,
  ].join('\n\n')
}

const header = (description: string, schema: object, required = true) => ({ description, required, schema })

const HEADERS = {
  Date: header("The world's time, which the answer describes", { type: 'string' }),
  'Retry-After': header(
    'How long to wait: whole seconds, or an HTTP date relative to `Date`. The option `--retry-after none` leaves it out',
    { type: 'string' },
    false,
  ),
  Allow: header('The only method of this path', { const: 'GET' }),
}

const credential = (name: string, description: string) => ({
  type: 'apiKey',
  in: 'header',
  name,
  description,
})

const SECURITY_SCHEMES = {
  'Authorization-ID': credential('Authorization-ID', "The caller's identifier, an integer"),
  'Authorization-Token': credential(
    'Authorization-Token',
    "The caller's secret token: it must not be distributed on the client side or published in a code repository",
  ),
}

const operationOf = (declaration: Operation, schemas: DocumentSchemas, example?: Example) => {
  const { path, operationId, summary, description, query, body, answer, refusals = {} } = declaration
  return {
    operationId,
    summary,
    description: example === undefined ? description : `${description}\n\n${exampleText(example)}`,
    parameters: [
      ...(path.includes('{SURVEY_ID}') ? [surveyIdParameter(schemas)] : []),
      ...(query === undefined ? [] : queryParameters(schemas.of(query))),
    ],
    ...(body && { requestBody: { required: true, content: { [JSON_TYPE]: { schema: schemas.of(body) } } } }),
    responses: {
      200: {
        description: answer.meta()?.description ?? 'The answer',
        headers: headersOf('Date'),
        content: {
          [JSON_TYPE]: { schema: schemas.of(answer), ...(example && { example: example.answer }) },
        },
      },
      ...Object.fromEntries(
        Object.entries(refusals).map(([status, reason]) => [
          status,
          {
            description: reason,
            headers: headersOf('Date', ...(EXTRA_HEADERS[status] ?? [])),
            content: { [JSON_TYPE]: { schema: schemas.of(errorBody) } },
          },
        ]),
      ),
    },
  }
}

const JSON_TYPE = 'application/json'

const EXTRA_HEADERS: Readonly<Record<string, readonly string[]>> = { 405: ['Allow'], 429: ['Retry-After'] }

const headersOf = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const surveyIdParameter = (schemas: DocumentSchemas) => {
  const { description, ...schema } = schemas.of(endpoints.surveyId)
  return { name: 'SURVEY_ID', in: 'path', required: true, description, schema }
}

/** The properties of an object, as parameters of that name; an array is given by repeating the name. */
const queryParameters = ({ properties = {}, required = [] }: JsonSchema) =>
  Object.entries(properties).flatMap(([name, property]) => {
    if (typeof property === 'boolean') return []
    const { description, ...schema } = property
    const repeated = schema.type === 'array' ? { style: 'form', explode: true } : {}
    return [{ name, in: 'query', required: required.includes(name), description, ...repeated, schema }]
  })

type Example = ReturnType<typeof exampleOf>

/** A request to copy, and the answer of this world with only the first record of each list; undefined if the world has no survey. */
const exampleOf = (endpoint: Endpoint, { organization, at, settings }: ServerState, origin: string) => {
  const { id, token } = organization.identity
  // A survey in the field, or without one the latest survey.
  const survey = [['fieldwork'] as const, []]
    .flatMap((statuses) => organization.listSurveys(at, { statuses }, 0, 1).rows)
    .at(0)
  const surveyId = String(survey?.id ?? 'SURVEY_ID')
  const path = endpoint.path.replace('{SURVEY_ID}', surveyId)
  const mark = endpoint.exampleQuery === '' ? '' : '?'
  const request = [
    'curl --globoff --compressed',
    `-H 'Authorization-ID: ${id}'`,
    `-H 'Authorization-Token: ${token}'`,
    `'${origin}${API_PREFIX}${path}${mark}${endpoint.exampleQuery}'`,
  ].join(' \\\n  ')
  if (path !== endpoint.path && survey === undefined) return { request, answer: undefined }
  const query = new URLSearchParams(endpoint.exampleQuery)
  const answer = endpoint.answerTo({ organization, at, surveyId, query, pageSize: settings.pageSize })
  const firstOnly = (_: string, value: unknown) => (Array.isArray(value) ? value.slice(0, 1) : value)
  const first: unknown = JSON.parse(JSON.stringify(answer, firstOnly))
  return { request, answer: first }
}

const exampleText = ({ request, answer }: Example): string =>
  [
    'A request to copy:',
    `\`\`\`bash\n${request}\n\`\`\``,
    answer === undefined
      ? 'This world has no survey yet.'
      : 'The example below is the answer to it at this moment, with only the first record of each list.',
  ].join('\n\n')

/** JSON Schema, draft 2020-12: the dialect of OpenAPI 3.1. */
type JsonSchema = z.core.JSONSchema.BaseSchema

type DocumentSchemas = ReturnType<typeof documentSchemas>

/** The schemas of everything that endpoints and control routes declare. Answers come first, because people read them first. */
const documentSchemas = () => {
  const declarations: readonly Operation[] = [...endpoints.ENDPOINTS, ...control.CONTROL_OPERATIONS]
  const declared = declarations.flatMap(({ query, body, answer }) => [answer, query ?? [], body ?? []].flat())
  const all = z.tuple([endpoints.surveyId, ...declared, errorBody])
  const schema = z.toJSONSchema(all, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      // zod leaves out the examples of input schemas, because it expects examples of outputs.
      const examples = z.globalRegistry.get(zodSchema)?.examples
      if (Array.isArray(examples)) jsonSchema.examples = examples
      // The largest number of JavaScript is no rule of the API.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  const inDocument = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')
  const { $defs: named = {}, prefixItems = [] }: JsonSchema = JSON.parse(inDocument)
  return {
    /** The schemas with an id, for `components`. */
    named,
    /** The schema in the document; a reference if it has an id. */
    of: (wanted: z.ZodType): JsonSchema => {
      const item = prefixItems[all.def.items.indexOf(wanted)]
      return typeof item === 'object' ? item : {}
    },
  }
}
