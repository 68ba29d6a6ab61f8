/** What an editor says of a settings file, by the JSON schema. */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { settingsFileSchema } from '../../../src/settings/keys.js'
import { settingsText } from '../../../src/settings/settings-text.js'

const check = new Ajv2020({ allowUnionTypes: true }).compile(settingsFileSchema())
const isGood = (yaml: string): boolean => check(parse(yaml))

const example = readFileSync(new URL('../../../config/fieldwork-sync.example.yaml', import.meta.url), 'utf8')

test('it accepts the example, and what init writes with all defaults', () => {
  expect(isGood(example), JSON.stringify(check.errors)).toBe(true)
  const written = settingsText(new Map([['accounts[].name', 'acme']]))
  expect(isGood(written), JSON.stringify(check.errors)).toBe(true)
  const withDefaults = written.replaceAll(/^( *)#([a-z_]+: [^<])/gm, '$1$2')
  expect(withDefaults).not.toBe(written)
  expect(isGood(withDefaults), JSON.stringify(check.errors)).toBe(true)
})

test.each([
  'limits: {attempts: 20}',
  `limits: {attempts: "\${ATTEMPTS}"}`,
  'discover: {overlap: 2m}',
  'refresh:',
  'publish: [duckdb, parquet]',
  'publish: {formats: [duckdb], views: []}',
  'history: {progress_keep_all_for: forever}',
  'contract: freeze',
  'accounts: [{id: 7, exclude: {status: [draft], surveys: [4711]}}]',
])('it accepts %s', (yaml) => {
  expect(isGood(yaml)).toBe(true)
})

test.each([
  'limits: {attempts: 21}',
  'limits: {attempts: 1.5}',
  'limits: {atempts: 2}',
  'discover: {overlap: 2}',
  'allow_insecure_http: sometimes',
  'publish: [csv]',
  'contract: thaw',
  'accounts: {id: 7}',
  'log_level: debug',
  'accounts: [{exclude: {status: [gone]}}]',
])('it refuses %s', (yaml) => {
  expect(isGood(yaml)).toBe(false)
})
