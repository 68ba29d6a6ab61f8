/** The docs page: the OpenAPI document for people, with examples from this very world. */
import { API_PREFIX } from '../api/routes.js'
import { flagOf, OPTIONS } from '../options.js'
import { CHOICES } from './choices.js'
import type { Example } from './examples.js'
import { type Html, html, joined, prose } from './html.js'
import { INTRODUCTION } from './openapi.js'
import { type JsonSchema, METHODS, type OpenApiDocument, type Operation } from './openapi-types.js'
import { API_TAG, CONTROL_TAG } from './operations.js'
import { STYLE } from './style.js'
import { parameterTable, schemaAnchor, shape, table } from './tables.js'

export interface PageContent {
  readonly document: OpenApiDocument
  /** By operationId. */
  readonly examples: Readonly<Record<string, Example>>
  /** How this server is set, by the name of the option. */
  readonly settings: Readonly<Record<string, string>>
}

/** One HTML document; it loads nothing and runs nothing. */
export const docsPage = (content: PageContent): string => {
  const { info } = content.document
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} ${info.version}</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<h1>${info.title}</h1>
<p>Version ${info.version}. ${prose(INTRODUCTION)}</p>
<p>For programs: <a href="/_reference/openapi.json">openapi.json</a>.</p>
${contents(content)}
<main>
${credentials(content)}
${operations(content, API_TAG, 'Endpoints')}
${fields(content)}
${enumerations(content)}
${errors(content)}
${choices()}
${options(content)}
${operations(content, CONTROL_TAG, 'Beside the API')}
</main>
</body>
</html>
`
  return page.html
}

interface Placed {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

const placed = ({ paths }: OpenApiDocument, tag: string): Placed[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      if (operation === undefined || !operation.tags.includes(tag)) return []
      return [
        { method: method.toUpperCase(), path: tag === API_TAG ? `${API_PREFIX}${path}` : path, operation },
      ]
    }),
  )

const contents = ({ document }: PageContent): Html => {
  const link = (id: string, title: string): Html => html`<li><a href="#${id}">${title}</a></li>
`
  const linksTo = (tag: string): Html[] =>
    placed(document, tag).map(({ operation: { operationId, summary } }) => link(operationId, summary))
  return html`<nav aria-label="Contents"><ul>
${link('credentials', 'Credentials')}${linksTo(API_TAG)}${link('fields', 'Fields')}${link('enumerations', 'Enumerations')}
${link('errors', 'Errors and limits')}${link('choices', 'What this server chose')}${link('options', 'Options')}
${linksTo(CONTROL_TAG)}</ul></nav>`
}

const credentials = ({ document }: PageContent): Html => html`<section id="credentials">
<h2>Credentials</h2>
<p>Every request to the API carries both headers.</p>
${table(
  ['Header', 'Meaning'],
  Object.values(document.components.securitySchemes).map(({ name, description }) => [
    html`<code>${name}</code>`,
    prose(description),
  ]),
)}
</section>`

const operations = (content: PageContent, tag: string, title: string): Html => html`<section>
<h2>${title}</h2>
<p>${prose(content.document.tags.find(({ name }) => name === tag)?.description ?? '')}.</p>
${placed(content.document, tag).map((each) => operationSection(each, content))}
</section>`

const operationSection = ({ method, path, operation }: Placed, { document, examples }: PageContent): Html => {
  const { operationId, summary, description, parameters, requestBody, responses } = operation
  const example = examples[operationId]
  const [answer] = Object.values(responses['200']?.content ?? {})
  const body = requestBody?.content['application/json']?.schema
  return html`<section id="${operationId}">
<h3>${summary}<br><code><span class="method">${method}</span> ${path}</code></h3>
<p>${prose(description)}</p>
${parameters.length === 0 ? '' : html`<h4>Parameters</h4>${parameterTable(parameters)}`}
${body === undefined ? '' : bodySection(body, document)}
${answer === undefined ? '' : html`<h4>Answer</h4>${shape(answer.schema, document.components.schemas)}`}
${example === undefined ? '' : exampleSection(example)}
</section>
`
}

/** The forms that a body may have, and one to copy. */
const bodySection = (body: JsonSchema, { components }: OpenApiDocument): Html => {
  const forms = (body.anyOf ?? [body]).map((form) => shape(form, components.schemas))
  const [sample] = body.examples ?? []
  return html`<h4>Body</h4>
<p>${prose(body.description ?? '')}.</p>
${joined(forms, 'or')}
${sample === undefined ? '' : html`<pre>${JSON.stringify(sample)}</pre>`}`
}

const exampleSection = ({ request, answer }: Example): Html => html`<h4>Example</h4>
<pre>${request}</pre>
${
  answer === null
    ? html`<p class="note">This world has no survey yet.</p>`
    : html`<p class="note">The answer at this moment; of each list, the first record alone:</p>
<pre>${answer}</pre>`
}`

const fields = ({ document }: PageContent): Html => html`<section id="fields">
<h2>Fields</h2>
${Object.entries(document.components.schemas)
  .filter(([, { properties }]) => properties !== undefined)
  .map(
    ([name, schema]) => html`<h3 id="${schemaAnchor(name)}">${name}</h3>
<p>${prose(schema.description ?? '')}.</p>
${shape(schema, document.components.schemas)}
`,
  )}
</section>`

const enumerations = ({ document }: PageContent): Html => html`<section id="enumerations">
<h2>Enumerations</h2>
${Object.entries(document.components.schemas).map(([name, schema]) => {
  if (schema.enum === undefined) return html``
  const meanings = new Map(Object.entries(Object(schema['x-enumDescriptions'] ?? {})))
  return html`<h3 id="${schemaAnchor(name)}">${name}</h3>
<p>${prose(schema.description ?? '')}.</p>
${table(
  meanings.size === 0 ? ['Value'] : ['Value', 'Meaning'],
  schema.enum.map((value) => [
    html`<code>${String(value)}</code>`,
    ...(meanings.size === 0 ? [] : [prose(String(meanings.get(String(value)) ?? ''))]),
  ]),
)}
`
})}
</section>`

const errors = ({ document }: PageContent): Html => {
  const told = new Map(
    placed(document, API_TAG).flatMap(({ operation: { responses } }) => Object.entries(responses)),
  )
  const refusals = [...told].filter(([status]) => status !== '200').sort()
  return html`<section id="errors">
<h2>Errors and limits</h2>
<p>Every error has the body <code>{"error": "&lt;one sentence&gt;"}</code>. An account may make 60 requests per minute by default, over all endpoints.</p>
${table(
  ['Status', 'When', 'Headers'],
  refusals.map(([status, { description, headers }]) => [
    html`${status}`,
    prose(description),
    html`${Object.keys(headers).map((name) => html`<code>${name}</code> `)}`,
  ]),
)}
${table(
  ['Header', 'Meaning'],
  Object.entries(document.components.headers).map(([name, { description }]) => [
    html`<code>${name}</code>`,
    prose(description),
  ]),
)}
</section>`
}

const choices = (): Html => html`<section id="choices">
<h2>What this server chose</h2>
<p>The API document leaves these open. The service may do otherwise.</p>
${Object.entries(CHOICES).map(
  ([topic, sentences]) => html`<h3>${topic}</h3>
<ul>
${sentences.map(
  (sentence) => html`<li>${prose(sentence)}</li>
`,
)}</ul>
`,
)}
</section>`

const options = ({ settings }: PageContent): Html => html`<section id="options">
<h2>Options</h2>
<p>How this server is set, and what it could be set to.</p>
${table(
  ['Option', 'Here', 'Default', 'Meaning'],
  Object.entries(OPTIONS).map(([name, { default: usual, describe }]) => [
    html`<code>--${flagOf(name)}</code>`,
    html`<code>${settings[name] ?? ''}</code>`,
    usual === null ? html`none` : html`<code>${usual}</code>`,
    prose(describe),
  ]),
)}
</section>`
