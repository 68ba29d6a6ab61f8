/** The generated settings reference is complete and has the defaults of the schema. */
import { expect, test } from 'vitest'
import { settingKeys } from '../../../src/settings/keys.js'
import { ENVIRONMENT_VARIABLES } from '../../../src/settings/names.js'
import { PROXY_VARIABLES } from '../../../src/settings/proxies.js'
import { settingsReference } from '../../../src/settings/reference.js'
import { STORAGE_VARIABLES } from '../../../src/settings/storage.js'

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

test('the reference is two Markdown tables with a row for each key and variable', () => {
  const lines = settingsReference().split('\n')
  expect(lines.slice(0, 2)).toEqual(['| Key | Type | Default | Meaning |', '| --- | --- | --- | --- |'])
  expect(lines).toContain(
    '| `refresh.settle_for` | duration, 0s to 365d | `1d` | A complete survey is refreshed in every run for this long after its last change. After that it is refreshed after 1, 2, 4, 8 … days, as long as it does not change |',
  )
  expect(lines.filter((line) => line.startsWith('| `'))).toHaveLength(
    settingKeys().length + ENVIRONMENT_VARIABLES.length + STORAGE_VARIABLES.length + PROXY_VARIABLES.length,
  )
})
