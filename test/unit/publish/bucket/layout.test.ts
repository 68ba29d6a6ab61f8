import { expect, test } from 'vitest'
import { agreeOnLayout } from '../../../../src/publish/bucket/layout.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { ModelStore } from '../../../support/storage/model-store.js'

test.each([null, 1, 4])(
  'the first run decides, and later runs with the same division go on (%s)',
  async (shards) => {
    const model = new ModelStore()
    for (const _ of [1, 2]) await agreeOnLayout(model.client(), shards, NEVER)
    expect(JSON.parse(model.objects.get('layout.json')?.body.toString() ?? '')).toEqual({ format: 1, shards })
    expect(model.requests.filter(({ verb }) => verb === 'putIfAbsent')).toHaveLength(1)
  },
)

test.each([
  [null, 4],
  [4, null],
  [4, 5],
])('another division is refused: %s, then %s', async (first, second) => {
  const model = new ModelStore()
  await agreeOnLayout(model.client(), first, NEVER)
  await expect(agreeOnLayout(model.client(), second, NEVER)).rejects.toMatchObject({ code: 'other_bucket' })
})

test('of two first runs with another division each, one is refused', async () => {
  const model = new ModelStore()
  const both = [agreeOnLayout(model.client(), 2, NEVER), agreeOnLayout(model.client(), 3, NEVER)]
  const states = (await Promise.allSettled(both)).map(({ status }) => status)
  expect(states.toSorted()).toEqual(['fulfilled', 'rejected'])
})

test.each([
  [null, 4, 'current.json'],
  [4, null, 'shard=3-of-4/current.json'],
  [4, 5, 'shard=0-of-4/current.json'],
])(
  'a layout that was deleted is not decided anew where a run has published: %s, then %s',
  async (first, second, pointer) => {
    const model = new ModelStore()
    model.write(pointer, '{}')
    // Of runs that ended before they divided the bucket.
    model.write('shard=0-of-9/lease.json', '{}')
    await expect(agreeOnLayout(model.client(), second, NEVER)).rejects.toMatchObject({ code: 'other_bucket' })
    expect(model.objects.has('layout.json')).toBe(false)
    await agreeOnLayout(model.client(), first, NEVER)
    expect(model.objects.has('layout.json')).toBe(true)
  },
)

test('a damaged layout is an error', async () => {
  const model = new ModelStore()
  model.write('layout.json', '{')
  await expect(agreeOnLayout(model.client(), 2, NEVER)).rejects.toMatchObject({ code: 'bucket_damaged' })
})
