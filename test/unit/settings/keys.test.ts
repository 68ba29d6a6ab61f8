/** What the reference says of each key: all have a type and a meaning, and the defaults of the schema. */
import { expect, test } from 'vitest'
import { settingKeys } from '../../../src/settings/keys.js'

test('every key has a type and a meaning, and only credentials, the shared cap, the bucket and reports have no default', () => {
  const keys = settingKeys()
  expect(keys.filter(({ valueType, meaning }) => valueType === '' || meaning === '')).toEqual([])
  const below = (section: string, ...names: readonly string[]) => names.map((name) => `${section}.${name}`)
  const notify = ['start', 'success', 'failure', 'webhook'].flatMap((name) => [name, `${name}_file`])
  expect(keys.filter(({ defaultText }) => defaultText === null).map(({ path }) => path)).toEqual([
    ...below('accounts[]', 'base_url', 'id', 'token', 'token_file', 'rate_limit.shared'),
    ...below('storage', 'url', 'endpoint', 'region', 'path_style'),
    ...below('metrics', 'file', 'pushgateway', 'pushgateway_file'),
    ...below('notify', ...notify),
  ])
})

test('defaults are printed as they are written in the file', () => {
  const byPath = new Map(settingKeys().map((key) => [key.path, key.defaultText]))
  expect(byPath.get('accounts[].rate_limit.per')).toBe('60s')
  expect(byPath.get('publish')).toBe('[duckdb]')
  expect(byPath.get('refresh.skip_unchanged')).toBe('true')
  expect(byPath.get('limits.response_bytes_max')).toBe('33554432')
})
