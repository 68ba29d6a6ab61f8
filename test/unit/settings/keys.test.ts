/** What the reference says of each key: all have a type and a meaning, and which of them have no default. */
import { expect, test } from 'vitest'
import { settingKeys } from '../../../src/settings/keys.js'

test('every key has a type and a meaning, and only credentials, the shared cap, the bucket, the plan and reports have no default', () => {
  const keys = settingKeys()
  expect(keys.filter(({ valueType, meaning }) => valueType === '' || meaning === '')).toEqual([])
  const below = (section: string, ...names: readonly string[]) => names.map((name) => `${section}.${name}`)
  const notify = ['start', 'success', 'failure', 'webhook'].flatMap((name) => [name, `${name}_file`])
  expect(keys.filter(({ defaultText }) => defaultText === null).map(({ path }) => path)).toEqual([
    ...below('accounts[]', 'base_url', 'id', 'token', 'token_file', 'rate_limit.shared'),
    ...below('storage', 'url', 'endpoint', 'region', 'path_style'),
    'report.survey_url',
    'plan',
    ...below('metrics', 'file', 'pushgateway', 'pushgateway_file'),
    ...below('notify', ...notify),
    ...below('notify.openlineage', 'url', 'url_file', 'token', 'token_file'),
    ...below('notify.digest', 'report_url', 'chat', 'chat_file', 'teams', 'teams_file'),
    ...below('notify.digest.mail', 'smtp', 'password', 'password_file', 'from', 'to'),
  ])
})
