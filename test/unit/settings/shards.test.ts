/** `--shard i/n`: its syntax, the shard of each account, and the accounts and warehouse of a shard. */
import { describe, expect, test } from 'vitest'
import { shardDirectory, shardOf, shardOfDirectory } from '../../../src/settings/shards.js'
import { ACCOUNT, anotherAccount, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const NAMES = Array.from({ length: 400 }, (_, index) => `account-${index}`)

describe('the shard of an account', () => {
  // Never change these: an account that moves to another shard loses its cursor and history.
  test.each([
    ['default', [0, 1, 1, 1, 9, 67]],
    ['acme', [0, 0, 0, 3, 9, 9]],
    ['globex', [0, 0, 0, 0, 8, 76]],
    ['initech', [0, 1, 1, 1, 5, 10]],
  ])('is stable for %s with 1, 2, 3, 4, 10 and 100 shards', (name, shards) => {
    expect([1, 2, 3, 4, 10, 100].map((count) => shardOf(name, count))).toEqual(shards)
  })

  test.each([2, 3, 8])('spreads accounts evenly over %i shards', (count) => {
    const sizes = new Map<number, number>()
    for (const name of NAMES) sizes.set(shardOf(name, count), (sizes.get(shardOf(name, count)) ?? 0) + 1)
    expect(sizes.size).toBe(count)
    for (const size of sizes.values()) expect(Math.abs(size - 400 / count)).toBeLessThan(40)
  })

  test('changes with an added shard only for the accounts that move to it', () => {
    for (const count of [1, 2, 3, 8]) {
      const moved = NAMES.filter((name) => shardOf(name, count + 1) !== shardOf(name, count))
      expect(moved.every((name) => shardOf(name, count + 1) === count)).toBe(true)
      expect(moved.length).toBeLessThan((400 / (count + 1)) * 1.4)
    }
  })
})

test('the directory of a shard contains its index and count', () => {
  expect(shardDirectory({ index: 3, count: 12 })).toBe('shard=3-of-12')
  expect(shardOfDirectory('shard=3-of-12')).toEqual({ index: 3, count: 12 })
  expect(['shard=3', 'versions', 'shard=a-of-b', 'x-shard=0-of-1'].map(shardOfDirectory)).toEqual(
    Array(4).fill(null),
  )
})

const THREE = `${ACCOUNT}${anotherAccount('globex')}${anotherAccount('initech', 19)}`
const loadedOf = async (flags: object, yaml = THREE) => {
  const { accounts, warehouseDirectory } = await load({ yaml, flags })
  return [accounts.map(({ name }) => name), warehouseDirectory]
}

test('each shard has its own accounts and warehouse, and together they have all accounts', async () => {
  expect(await loadedOf({ shard: '0/2', warehouse: '/w' })).toEqual([['acme', 'globex'], '/w/shard=0-of-2'])
  expect(await loadedOf({ shard: '1/2', warehouse: '/w' })).toEqual([['initech'], '/w/shard=1-of-2'])
  expect(await loadedOf({ shard: '2/4' })).toEqual([[], `${process.cwd()}/warehouse/shard=2-of-4`])
  expect(await loadedOf({ shard: '0/2', accounts: 'globex,initech' })).toEqual([
    ['globex'],
    `${process.cwd()}/warehouse/shard=0-of-2`,
  ])
  expect(await loadedOf({})).toEqual([['acme', 'globex', 'initech'], `${process.cwd()}/warehouse`])
})

test('a shard needs the tokens of its own accounts only', async () => {
  const yaml = THREE.replace(/(name: initech[\s\S]*)token: .*/, '$1token_file: /not/there')
  expect((await loadedOf({ shard: '0/2' }, yaml))[0]).toEqual(['acme', 'globex'])
  expect(await problemsOf({ yaml, flags: { shard: '1/2' } })).toHaveLength(1)
})

test.each(['4', '4/4', '-1/4', '0/0', '0/101', 'a/b', '1/4/2'])('--shard %j is refused', async (shard) => {
  expect(await problemsOf({ yaml: THREE, flags: { shard } })).toEqual([
    `--shard: must be i/n, such as 0/4: n from 1 to 100, i from 0 to n-1, not "${shard}"`,
  ])
})

test('an empty --shard is refused', async () => {
  expect(await problemsOf({ yaml: THREE, flags: { shard: '' } })).toEqual([
    '--shard: is empty; it must be i/n, such as 0/4: n from 1 to 100, i from 0 to n-1',
  ])
})
