/** Two shards sync at the same time below one directory. A reader of all shards sees each account exactly once. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../support/command/command.js'
import { query } from '../support/warehouse/duckdb.js'
import { ALL, open } from './shards-shared.js'

test('two shards sync at the same time, and another number of shards is refused', async () => {
  const { root, apis, place, command, surveys } = await open()
  // No account gets an answer before each has asked: neither shard ends before the other one has begun.
  const asked = Promise.all(apis.map((api) => api.arrived(() => true)))
  for (const api of apis) api.hook = () => asked.then(() => false)
  const both = [command('sync', '--shard', '0/2'), run(['sync', ...place, '--shard', '1/2'])]
  for (const ended of await Promise.all(both)) expect(ended).toMatchObject({ code: 0 })
  expect(await surveys()).toEqual(ALL)
  expect(
    await query(
      join(root, 'shard=1-of-2', 'fieldwork.duckdb'),
      'SELECT DISTINCT account FROM surveys UNION SELECT account FROM _sync.runs',
    ),
  ).toEqual([{ account: 'initech' }])

  const refused = await command('sync', '--shard', '0/3', '--json')
  expect(refused).toMatchObject({ code: 2 })
  expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'other_shards', exit_code: 2 } })
  expect(await surveys()).toEqual(ALL)
})
