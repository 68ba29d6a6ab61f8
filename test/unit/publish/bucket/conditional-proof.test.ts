import { expect, test } from 'vitest'
import { ObjectStoreError } from '../../../../src/object-store/errors.js'
import { proveConditionalWrites } from '../../../../src/publish/bucket/conditional.js'
import { PROOF_KEY } from '../../../../src/publish/bucket/keys.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { type ModelFault, ModelStore } from '../../../support/storage/model-store.js'

const DAY_MS = 24 * 3_600_000

const trial = () => {
  let nowMs = 0
  const model = new ModelStore({ nowMs: () => nowMs })
  return {
    model,
    pass: (ms: number) => {
      nowMs += ms
    },
    prove: (endpoint: string | null = null, store = model.client(), signal = NEVER) =>
      proveConditionalWrites({ store, endpoint, signal }),
    proofs: () =>
      model.requests.filter(({ verb, key }) => verb === 'delete' && key.startsWith('check/')).length,
  }
}

test.each([
  [['putIfAbsent'], 'it ignores If-None-Match'],
  [['putIfMatch'], 'it ignores If-Match'],
  [['putIfAbsent', 'putIfMatch'], 'it ignores If-None-Match'],
] as const)(
  'a store that ignores %s is refused by each run, whatever earlier runs have left',
  async (ignored, problem) => {
    const { model, prove } = trial()
    for (const verb of ignored) model.ignored.add(verb)
    for (const run of [1, 2, 3]) {
      await expect(prove(), `run ${run}`).rejects.toThrow(problem)
      expect([...model.objects.keys()].filter((key) => key !== 'lease.json')).toEqual([])
      model.write('lease.json', '{}')
    }
    model.ignored.clear()
    await prove()
    expect(model.objects.has(PROOF_KEY)).toBe(true)
  },
)

test('a success is remembered, and the next runs send one request', async () => {
  const { model, prove, proofs } = trial()
  await prove()
  expect([...model.objects.keys()]).toEqual([PROOF_KEY])
  const from = model.requests.length
  await prove()
  expect(model.requests.slice(from)).toEqual([{ verb: 'get', key: PROOF_KEY }])
  expect(proofs()).toBe(1)
})

test('a server that loses its conditions with an update is found within a week', async () => {
  const { model, prove, pass, proofs } = trial()
  await prove()
  model.ignored.add('putIfMatch')
  pass(7 * DAY_MS)
  await prove()
  pass(1)
  await expect(prove()).rejects.toThrow('it ignores If-Match')
  model.ignored.clear()
  await prove()
  await prove()
  expect(proofs()).toBe(3)
})

test('a copy of the bucket in another store or under another prefix is proven anew', async () => {
  const { model, prove, proofs } = trial()
  await prove('https://old.internal')
  model.ignored.add('putIfAbsent')
  await expect(prove('https://new.internal')).rejects.toThrow('it ignores If-None-Match')
  const copy = { ...model.client(), address: 's3://model/copy' }
  await expect(prove('https://old.internal', copy)).rejects.toThrow('it ignores If-None-Match')
  model.ignored.clear()
  await prove('https://new.internal')
  await prove('https://new.internal')
  expect(proofs()).toBe(4)
})

test.each(['', '{', '{"format":1}', '{"format":2,"store":"AWS s3://model/test"}'])(
  'a remembered proof that cannot be read is none: %s',
  async (text) => {
    const { model, prove, proofs } = trial()
    model.write(PROOF_KEY, text)
    await prove()
    await prove()
    expect(proofs()).toBe(1)
  },
)

test.each<ModelFault>(['refused', 'unreachable', 'lost_answer'])(
  'a proof that is interrupted at any of its requests is neither remembered nor a verdict: %s',
  async (fault) => {
    for (let interrupted = 1; interrupted <= 7; interrupted += 1) {
      const { model, prove } = trial()
      let requests = 0
      const store = model.client({
        fault: () => {
          requests += 1
          return requests === interrupted ? fault : null
        },
      })
      await expect(prove(null, store)).rejects.toThrow(ObjectStoreError)
      expect(model.objects.has(PROOF_KEY)).toBe(false)
      await prove()
      expect(model.objects.has(PROOF_KEY)).toBe(true)
    }
  },
)

test('a proof that a signal ends is not remembered', async () => {
  const { model, prove } = trial()
  const stop = new AbortController()
  const store = model.client({
    fault: ({ verb }) => {
      if (verb === 'putIfMatch') stop.abort(new Error('stopped'))
      return null
    },
  })
  await expect(prove(null, store, stop.signal)).rejects.toThrow('stopped')
  expect(model.objects.has(PROOF_KEY)).toBe(false)
})

test('a success that cannot be remembered is proven again by the next run', async () => {
  const { model, prove, proofs } = trial()
  const store = model.client({
    fault: ({ verb, key }) => (verb === 'putIfAbsent' && key === PROOF_KEY ? 'refused' : null),
  })
  await prove(null, store)
  await prove()
  await prove()
  expect(proofs()).toBe(2)
})
