/** A written settings file is read again as what was given, and shows every other key with its default. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { settingKeys } from '../../../src/settings/keys.js'
import { settingsText } from '../../../src/settings/settings-text.js'
import { anyText } from '../../support/hostile/any-text.js'
import { ACCOUNT_ENV, load, TOKEN } from '../../support/settings/settings-from-yaml.js'
import { cases } from '../../support/suite/cases.js'

const ACCOUNT = [
  ['accounts[].name', 'acme'],
  ['accounts[].base_url', 'https://fieldwork.example/api/v1'],
  ['accounts[].id', 17],
  ['accounts[].token_file', '/secrets/token'],
] as const
const textWith = (...more: readonly (readonly [string, string | number])[]): string =>
  settingsText(new Map<string, string | number>([...ACCOUNT, ...more]))
const files = { '/secrets/token': `${TOKEN}\n` }

test('only the given keys have values, and all others are defaults', async () => {
  const yaml = textWith(['warehouse.directory', '/data/fieldwork'])
  const {
    accounts,
    accountNames,
    settingsFile: _,
    warehouseDirectory,
    ...others
  } = await load({ yaml, files })
  const {
    accounts: __,
    accountNames: ___,
    settingsFile: ____,
    warehouseDirectory: _____,
    ...defaults
  } = await load({ env: ACCOUNT_ENV })
  expect(accountNames).toEqual(['acme'])
  expect(accounts).toMatchObject([{ name: 'acme', baseUrl: 'https://fieldwork.example/api/v1', id: 17 }])
  expect(accounts[0]?.token.reveal()).toBe(TOKEN)
  expect(warehouseDirectory).toBe('/data/fieldwork')
  expect(others).toEqual(defaults)
})

test('every key is there, after a comment with its meaning', () => {
  const lines = textWith().split('\n')
  const keys = lines.flatMap((line, at) => (/^ *(- |#)?([a-z_]+): \S/.test(line) ? [at] : []))
  expect(keys).toHaveLength(settingKeys().length)
  expect(keys.filter((at) => !/^ *# \S/.test(lines[at - 1] ?? ''))).toEqual([])
  const words = lines.map((line) => line.trim().replace(/^# /, '')).join(' ')
  for (const { meaning } of settingKeys()) expect(words).toContain(meaning)
  expect(lines.slice(1).filter((line) => line.length > 110)).toEqual([])
})

test('its first line names the schema in this package, by which editors complete it', () => {
  const [first = ''] = textWith().split('\n')
  const [, file = ''] = /^# yaml-language-server: \$schema=(\/.*)$/.exec(first) ?? []
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ properties: { accounts: {} } })
})

test('each default can be set by removing its #, alone and all together', async () => {
  const yaml = textWith()
  const { settingsFile: _, ...asWritten } = await load({ yaml, files })
  const withDefault = yaml.split('\n').flatMap((line, at) => (/^ *#[a-z_]+: [^<]/.test(line) ? [at] : []))
  expect(withDefault.length).toBeGreaterThan(20)
  const set = (places: readonly number[]): string =>
    yaml
      .split('\n')
      .map((line, at) => (places.includes(at) ? line.replace('#', '') : line))
      .join('\n')
  for (const place of withDefault) {
    const { refresh: _, settingsFile: __, ...settings } = await load({ yaml: set([place]), files })
    const { refresh: ___, ...expected } = asWritten
    expect(settings).toEqual(expected)
  }
  expect(await load({ yaml: set(withDefault), files })).toEqual({
    ...asWritten,
    settingsFile: '/etc/fs/settings.yaml',
    refresh: { ...asWritten.refresh, daily_windows: { days: 7, time_zone: 'UTC', sources: false } },
  })
})

test('any path is read again as it was given', async () => {
  const anyPath = fc
    .oneof(
      fc.string(),
      anyText(),
      fc.constantFrom(
        `\${HOME}`,
        `$\${`,
        '# x',
        'a: b',
        '- ',
        'a\nb',
        `${'\u0001'.repeat(9)}\n${'b'.repeat(40)}`,
        '~',
        'yes',
      ),
    )
    .filter((text) => !/[\0?]/.test(text))
  await fc.assert(
    fc.asyncProperty(anyPath, async (path) => {
      const yaml = textWith(['warehouse.directory', `/data/${path}`])
      expect((await load({ yaml, files })).warehouseDirectory).toBe(resolve(`/data/${path}`))
    }),
    cases(40),
  )
})
