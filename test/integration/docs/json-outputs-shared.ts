/** What both test files of json-outputs use. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'
import type { Ended, Env } from '../../support/command/command.js'
import type { Trial } from '../../support/command/trial.js'
import { JSON_DOCUMENTS } from './json-documents.js'
import type { JsonSchema } from './json-fields.js'

export const FOLDER = fileURLToPath(new URL('../../../docs/reference/', import.meta.url))
const ajv = new Ajv2020({ strict: true, allErrors: true })
addFormats.default(ajv)

export const schemaOf = (name: string): JsonSchema =>
  JSON.parse(readFileSync(`${FOLDER}json/${name}.schema.json`, 'utf8'))

const VALIDATORS = new Map(JSON_DOCUMENTS.map(({ name }) => [name, ajv.compile(schemaOf(name))]))

/** Every problem of a document, a line each. */
export const problemsOf = (name: string, json: unknown): readonly string[] => {
  const validate = VALIDATORS.get(name)
  if (validate === undefined) throw new Error(`there is no schema ${name}`)
  return validate(json)
    ? []
    : (validate.errors ?? []).map(
        ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
      )
}

/** Runs a command line with `--json`, and returns the document after its schema has accepted it: that of the command, or of `name`. */
export const runJson = async (
  trial: Trial,
  line: string,
  more: readonly string[] = [],
  { name = line.split(' ')[0] ?? '', env = {} }: { readonly name?: string; readonly env?: Env } = {},
): Promise<{ readonly ended: Ended; readonly json: unknown }> => {
  const ended = await trial.runWarm([...line.split(' '), ...more, '--json', '--log-level', 'silent'], env)
  const json: unknown = JSON.parse(ended.stdout)
  expect(problemsOf(name, json)).toEqual([])
  return { ended, json }
}
