/** Two shards sync at the same time below one directory. A reader of all shards sees each account exactly once. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { query } from '../support/warehouse/duckdb.js'
import { open } from './shards-shared.js'

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
