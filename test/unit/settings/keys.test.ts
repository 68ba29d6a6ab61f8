/** What the reference says of each key: all have a type and a meaning, and the defaults of the schema. */
import { expect, test } from 'vitest'
import { settingKeys } from '../../../src/settings/keys.js'

test('every key has a type and a meaning, and only credentials, the shared cap, the bucket and reports have no default', () => {
  const keys = settingKeys()
  expect(keys.filter(({ valueType, meaning }) => valueType === '' || meaning === '')).toEqual([])
  expect(keys.filter(({ defaultText }) => defaultText === null).map(({ path }) => path)).toEqual([
    'accounts[].base_url',
    'accounts[].id',
    'accounts[].token',
    'accounts[].token_file',
    'accounts[].rate_limit.shared',
    'storage.url',
    'storage.endpoint',
    'storage.region',
    'storage.path_style',
    'metrics.file',
    'metrics.pushgateway',
    'metrics.pushgateway_file',
    'notify.start',
    'notify.start_file',
    'notify.success',
    'notify.success_file',
    'notify.failure',
    'notify.failure_file',
    'notify.webhook',
    'notify.webhook_file',
  ])
})

test('defaults are printed as they are written in the file', () => {
  const byPath = new Map(settingKeys().map((key) => [key.path, key.defaultText]))
  expect(byPath.get('accounts[].rate_limit.per')).toBe('60s')
  expect(byPath.get('publish')).toBe('[duckdb]')
  expect(byPath.get('refresh.skip_unchanged')).toBe('true')
  expect(byPath.get('limits.response_bytes_max')).toBe('33554432')
})
