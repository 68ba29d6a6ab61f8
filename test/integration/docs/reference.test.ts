/** The generated pages of `docs/reference` and the generated parts of these and of `docs/explanation`. `npm run reference` writes them. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { schemaAsMarkdown } from '../../../src/commands/schema.js'
import { settingsFileSchema } from '../../../src/settings/keys.js'
import { SETTING_NAMES } from '../../../src/settings/names.js'
import { ENDPOINT_VARIABLES } from '../../../src/settings/storage.js'
import { pathText } from '../../../src/settings/tree.js'
import { JSON_DOCUMENTS, jsonSchemaOf } from './json-documents.js'
import { generatedParts } from './reference-parts.js'

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url))
const FOLDER = `${DOCS}reference/`
const parts = generatedParts()

const GENERATED = /<!-- generated: (.+?) -->\n[\s\S]*?<!-- end of \1 -->/g
const PAGES = ['reference', 'explanation'].flatMap((folder) =>
  readdirSync(`${DOCS}${folder}`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`),
)
const read = (page: string): string => readFileSync(`${DOCS}${page}`, 'utf8')
const partsOf = (page: string): readonly string[] =>
  [...read(page).matchAll(GENERATED)].map(([, name = '']) => name)
const WITH_PARTS = PAGES.filter((page) => partsOf(page).length > 0)

test('every generated part is on a page, and every marker names a part', () => {
  const used = new Set(PAGES.flatMap(partsOf))
  expect([...used].sort()).toEqual([...parts.keys()].sort())
  const markers = PAGES.flatMap((page) => read(page).match(/<!-- (generated: |end of )/g) ?? [])
  expect(markers).toHaveLength(2 * PAGES.flatMap(partsOf).length)
})

test.each(WITH_PARTS)('docs/%s is what `npm run reference` writes', async (page) => {
  const written = read(page).replace(
    GENERATED,
    (_, name: string) => `<!-- generated: ${name} -->\n\n${parts.get(name) ?? ''}\n<!-- end of ${name} -->`,
  )
  await expect(written).toMatchFileSnapshot(`${DOCS}${page}`)
})

test('docs/reference/settings.md has every environment variable, with what it sets', () => {
  const rows = read('reference/settings.md').matchAll(/^\| `([A-Z][A-Z\d_]+)` \| (.+?) \| .+ \|$/gm)
  const described = new Map([...rows].map(([, name = '', sets = '']) => [name, sets.replaceAll('-', '_')]))
  const ours = SETTING_NAMES.flatMap(({ variable, path }) => (variable ? { variable, path } : []))
  const proxies = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']
  const names = [...ours.map(({ variable }) => variable), ...ENDPOINT_VARIABLES, ...proxies]
  expect([...described.keys()]).toEqual(names)
  for (const { variable, path } of ours) expect(described.get(variable)).toContain(pathText(path))
})

test('docs/reference/tables.md is what `npm run reference` writes', async () => {
  await expect(schemaAsMarkdown()).toMatchFileSnapshot(`${FOLDER}tables.md`)
})

test('config/settings.schema.json is what `npm run reference` writes', async () => {
  const file = fileURLToPath(new URL('../../../config/settings.schema.json', import.meta.url))
  await expect(`${JSON.stringify(settingsFileSchema(), null, 2)}\n`).toMatchFileSnapshot(file)
})

for (const document of JSON_DOCUMENTS) {
  const file = `json/${document.name}.schema.json`
  test(`docs/reference/${file} is what \`npm run reference\` writes`, async () => {
    const schema = `${JSON.stringify(jsonSchemaOf(document), null, 2)}\n`
    await expect(schema).toMatchFileSnapshot(`${FOLDER}${file}`)
  })
}
