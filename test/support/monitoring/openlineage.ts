/**
 * Validates events by the JSON schemas of OpenLineage 2-0-2 and of the facets that they have. The schemas in the folder `openlineage` are
 * those of https://openlineage.io/spec, under the Apache License 2.0.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { z } from 'zod'

const FOLDER = new URL('openlineage/', import.meta.url)

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
for (const name of readdirSync(FOLDER)) ajv.addSchema(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')))

const problemsBy = (url: string, document: unknown): readonly string[] => {
  const validate = ajv.getSchema(url)
  if (validate === undefined) return [`no schema ${url}`]
  validate(document)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${url} ${instancePath} ${message}`)
}

const facets = z.record(z.string(), z.looseObject({ _schemaURL: z.string() })).default({})
const dataset = z.looseObject({
  ...{ namespace: z.string(), name: z.string(), facets, outputFacets: facets },
})
const event = z.looseObject({
  eventType: z.string(),
  eventTime: z.string(),
  schemaURL: z.string(),
  run: z.looseObject({ runId: z.string(), facets }),
  job: z.looseObject({ namespace: z.string(), name: z.string() }),
  inputs: z.array(dataset),
  outputs: z.array(dataset),
})

/** The event, and what is wrong with it by the schemas that it names. */
export const readEvent = (body: string) => {
  const document: unknown = JSON.parse(body)
  const read = event.parse(document)
  const all = [
    read.run.facets,
    ...[...read.inputs, ...read.outputs].flatMap((one) => [one.facets, one.outputFacets]),
  ]
  const problems = all
    .flatMap((each) => Object.values(each))
    .flatMap((facet) => problemsBy(facet._schemaURL, facet))
  return { ...read, problems: [...problemsBy(read.schemaURL, document), ...problems] }
}
