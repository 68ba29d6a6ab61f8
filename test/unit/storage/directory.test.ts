/** A directory holds one warehouse, or the shards of one shard count. Any other layout is refused with a reason. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type Shard, shardDirectory } from '../../../src/settings/shards.js'
import { requireShardLayout } from '../../../src/storage/directory.js'
import { temporaryDirectory } from '../../support/files/temporary.js'

const layout = async (files: readonly string[], shard: Shard | null, below = '') => {
  const root = join(await temporaryDirectory(), below)
  await mkdir(root, { recursive: true })
  for (const file of files) {
    await mkdir(join(root, dirname(file)), { recursive: true })
    await writeFile(join(root, file), '')
  }
  const warehouseDirectory = shard === null ? root : join(root, shardDirectory(shard))
  return requireShardLayout({ warehouseDirectory, shard }).then(
    () => 'accepted',
    (error: unknown) => (error instanceof Error ? error.message.replaceAll(root, 'ROOT') : error),
  )
}

const FIRST_OF_TWO: Shard = { index: 0, count: 2 }

test.each<[string, readonly string[], Shard | null]>([
  ['a shard in an empty directory', [], FIRST_OF_TWO],
  ['a shard beside the others', ['shard=0-of-2/work.duckdb', 'shard=1-of-2/work.duckdb'], FIRST_OF_TWO],
  ['a shard beside a directory of another count without a database', ['shard=0-of-3/lost'], FIRST_OF_TWO],
  ['a shard beside unrelated files', ['notes.txt'], FIRST_OF_TWO],
  ['a warehouse without shards beside its own files', ['work.duckdb'], null],
])('%s is accepted', async (_, files, shard) => {
  expect(await layout(files, shard)).toBe('accepted')
})

test.each<[string, readonly string[], Shard | null, string]>([
  [
    'a shard beside shards of another count',
    ['shard=0-of-4/fieldwork.duckdb', 'shard=3-of-4/parquet/manifest', 'shard=0-of-5/work.duckdb'],
    { index: 0, count: 5 },
    'ROOT holds shard=0-of-4, shard=3-of-4, but this run would write one of shard=0-of-5 to shard=4-of-5, which would store the same accounts twice.',
  ],
  [
    'a shard beside a warehouse without shards',
    ['fieldwork.duckdb'],
    FIRST_OF_TWO,
    'ROOT holds a warehouse without shards, but this run would write one of shard=0-of-2 to shard=1-of-2, which would store the same accounts twice.',
  ],
  [
    'a warehouse without shards beside shards',
    ['shard=0-of-2/work.duckdb'],
    null,
    'ROOT holds shard=0-of-2, but this run would write a warehouse without shards, which would store the same accounts twice.',
  ],
])('%s is refused', async (_, files, shard, message) => {
  expect(await layout(files, shard)).toContain(message)
})

test('a sync without --shard refuses the directory of a shard', async () => {
  expect(await layout([], null, 'shard=1-of-2')).toMatch(
    /^ROOT is the warehouse of shard 1 of 2, but this run would store all accounts in it\. Give --warehouse \S+ --shard 1\/2$/,
  )
})
