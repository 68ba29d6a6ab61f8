/** The example file loads, is complete, and shows the real defaults. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { settingKeys } from '../../../src/settings/keys.js'
import { ACCOUNT_ENV, load } from '../../support/settings/settings-from-yaml.js'

const example = readFileSync(new URL('../../../config/fieldwork-sync.example.yaml', import.meta.url), 'utf8')

/** The paths of all keys that have a value, list items as `[]`. */
const pathsOf = (value: unknown, path = ''): readonly string[] => {
  if (Array.isArray(value) && value.some((item) => typeof item === 'object')) {
    return value.flatMap((item) => pathsOf(item, `${path}[]`))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path]
  return Object.entries(value).flatMap(([key, child]) => pathsOf(child, path === '' ? key : `${path}.${key}`))
}

test('the example loads and sets only defaults', async () => {
  const { accounts, settingsFile, ...shown } = await load({
    yaml: example,
    env: { SURVEY_API_TOKEN: 'a-token' },
  })
  const { accounts: _, settingsFile: __, ...defaults } = await load({ env: ACCOUNT_ENV })
  expect(shown).toEqual(defaults)
  expect(settingsFile).toBe('/etc/fs/settings.yaml')
  expect(accounts).toMatchObject([{ name: 'default', id: 1, rate: { requests: 60, perMs: 60_000 } }])
  expect(accounts[0]?.token.reveal()).toBe('a-token')
})

test('the example has every key; token_file, which excludes token, and the keys that are off by default are comments', () => {
  const withTokenFile = example
    .replace(/# (token_file: )/, '$1')
    .replace(/# (shared: )/, '$1')
    .replaceAll(/^# ((?:plan:|storage:| {2}(?:url|endpoint|region|path_style):).*)$/gm, '$1')
    .replaceAll(
      /^# ((?:metrics:|notify:| {2}(?:file|pushgateway|start|success|failure|webhook):).*)$/gm,
      '$1',
    )
    .replaceAll(
      /^# ( {2}(?:digest|openlineage):| {4}(?:report_url|first|chat|teams|mail|url|token|namespace):.*| {6}(?:smtp|password|from|to):.*)$/gm,
      '$1',
    )
    .replaceAll(/^# ( {2,})# ([a-z]+_file: )/gm, '$1$2')
    .replaceAll(/^( {2})# ( *(?:daily_windows:|days:|sources:|survey_url:))/gm, '$1$2')
  expect(withTokenFile).not.toBe(example)
  expect([...pathsOf(parse(withTokenFile))].sort()).toEqual(
    settingKeys()
      .map(({ path }) => path)
      .sort(),
  )
})

test('every key has a comment above it or above its section', () => {
  const lines = example.split('\n')
  const bare = lines.filter((line, index) => {
    const isSetting = /^\s*(- )?[a-z_]+: \S/.test(line)
    const above = lines.slice(0, index).reverse()
    const comment = above.findIndex((other) => /^\s*#/.test(other))
    return isSetting && (comment === -1 || comment > 2)
  })
  expect(bare).toEqual([])
})
