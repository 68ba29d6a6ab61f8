/** Two shards sync at the same time below one directory. A reader of all shards sees each account exactly once. */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey, startScriptedApi } from '../support/api/scripted-api.js'
import { type Ended, run } from '../support/command/command.js'
import { withSettings } from '../support/command/sync.js'
import { runWarm } from '../support/command/warm.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { query } from '../support/warehouse/duckdb.js'

const open = async () => {
  const root = await temporaryDirectory()
  const names = ['acme', 'globex', 'initech']
  const apis = await Promise.all(
    names.map((name) => startScriptedApi([1, 2].map((id) => scriptedSurvey(id, { title: `of ${name}` }, 1)))),
  )
  const accounts = names.map((name, index) => ({
    name,
    base_url: apis[index]?.baseUrl,
    id: index + 1,
    token: `tok-of-account-${name}`,
    rate_limit: { requests: 1000, per: '1s' },
  }))
  const publish = { formats: ['duckdb', 'parquet'], views: [] }
  const args = await withSettings({ accounts, publish, refresh: { reconstruct: false } })
  const place = [...args, '--warehouse', root]
  const command = (name: string, ...more: readonly string[]): Promise<Ended> =>
    runWarm([name, ...place, ...more])
  const surveys = () =>
    query(
      ':memory:',
      `SELECT shard, account, count(*)::INTEGER AS surveys, min(title) AS title
        FROM read_parquet('${root}/shard=*/parquet/current/surveys/**/*.parquet', hive_partitioning = true)
        GROUP BY ALL ORDER BY ALL`,
    )
  return { root, apis, place, command, surveys }
}

const ALL = [
  { shard: '0-of-2', account: 'acme', surveys: 2, title: 'of acme' },
  { shard: '0-of-2', account: 'globex', surveys: 2, title: 'of globex' },
  { shard: '1-of-2', account: 'initech', surveys: 2, title: 'of initech' },
]

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

test('a shard without accounts completes and says so, and status and export read one shard', async () => {
  const { root, command } = await open()
  const ended = await command('sync', '--shard', '2/4')
  expect(ended).toMatchObject({ code: 0 })
  expect(ended.stdout.trimEnd().split('\n').at(-1)).toBe(
    'complete: no account belongs to this shard; nothing was requested.',
  )
  await command('sync', '--shard', '3/4')
  const status = await command('status', '--shard', '3/4')
  expect(status.stdout).toContain('shard=3-of-4/fieldwork.duckdb')
  const withoutShard = await command('status')
  expect(withoutShard.stderr).toMatch(
    /The warehouse is divided into 4 shards: choose one, such as --shard \d\/4/,
  )
  const out = join(root, 'out')
  await command('export', '--shard', '3/4', '--format', 'csv', '--out', out, '--tables', 'surveys')
  expect(await query(':memory:', `SELECT DISTINCT account FROM '${out}/surveys.csv'`)).toEqual([
    { account: 'acme' },
  ])
  const empty = `SELECT count(*)::INTEGER AS n FROM read_parquet('${root}/shard=2-of-4/parquet/current/surveys/**/*.parquet')`
  expect(await query(':memory:', empty)).toEqual([{ n: 0 }])
})
