import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type ObjectBody,
  ObjectStoreError,
  type PutOutcome,
} from '../../../../src/object-store/object-store.js'
import { openStore } from '../../../../src/object-store/open.js'
import { PROOF_KEY } from '../../../../src/storage/bucket/documents.js'
import {
  agreeOnLayout,
  proveConditionalWrites,
  requireConditionalWrites,
} from '../../../../src/storage/bucket/preconditions.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { STORAGE_CREDENTIALS, withEnvironment } from '../../../support/storage/credentials.js'
import { type ModelFault, ModelStore } from '../../../support/storage/model-store.js'
import {
  type S3Fault,
  type S3Request,
  type S3ServerOptions,
  startS3Server,
} from '../../../support/storage/s3-server.js'

const DAY_MS = 24 * 3_600_000

describe('the division into shards', () => {
  test.each([null, 1, 4])('is decided by the first run, and kept by later ones (%s)', async (shards) => {
    const model = new ModelStore()
    for (const _ of [1, 2]) await agreeOnLayout(model.client(), shards, NEVER)
    const layout = JSON.parse(model.objects.get('layout.json')?.body.toString() ?? '')
    expect(layout).toEqual({ format: 1, shards })
    expect(model.requests.filter(({ verb }) => verb === 'putIfAbsent')).toHaveLength(1)
  })

  test.each([
    [null, 4, 'current.json'],
    [4, null, 'shard=3-of-4/current.json'],
    [4, 5, 'shard=0-of-4/current.json'],
  ])('is no other one, also where the layout was deleted: %s, then %s', async (first, second, pointer) => {
    const model = new ModelStore()
    model.write(pointer, '{}')
    // Of runs that ended before they divided the bucket.
    model.write('shard=0-of-9/lease.json', '{}')
    const other = () => agreeOnLayout(model.client(), second, NEVER)
    await expect(other()).rejects.toMatchObject({ code: 'other_bucket' })
    expect(model.objects.has('layout.json')).toBe(false)
    await agreeOnLayout(model.client(), first, NEVER)
    await expect(other()).rejects.toMatchObject({ code: 'other_bucket' })
  })

  test('is that of one of two first runs with another one each', async () => {
    const model = new ModelStore()
    const both = [agreeOnLayout(model.client(), 2, NEVER), agreeOnLayout(model.client(), 3, NEVER)]
    const states = (await Promise.allSettled(both)).map(({ status }) => status)
    expect(states.toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test('is an error if it is damaged', async () => {
    const model = new ModelStore()
    model.write('layout.json', '{')
    await expect(agreeOnLayout(model.client(), 2, NEVER)).rejects.toMatchObject({ code: 'bucket_damaged' })
  })
})

describe('conditional writes', () => {
  const open = async (options: S3ServerOptions = {}) => {
    withEnvironment(onTestFinished, STORAGE_CREDENTIALS)
    const server = await startS3Server(onTestFinished, options)
    const { bucket, endpoint } = server
    const store = await openStore({
      bucket,
      prefix: 'p',
      endpoint,
      region: null,
      pathStyle: true,
      azure: null,
    })
    onTestFinished(() => store[Symbol.asyncDispose]())
    return { server, store }
  }

  test('hold in the model and over HTTP, and nothing stays', async () => {
    const model = new ModelStore()
    await requireConditionalWrites(model.client(), NEVER)
    expect(model.objects.size).toBe(0)
    expect(model.requests.every(({ key }) => key.startsWith('check/'))).toBe(true)
    const { store, server } = await open()
    await requireConditionalWrites(store, NEVER)
    expect(server.store.objects.size).toBe(0)
  })

  test('hold when the client repeats every put', async () => {
    const fault = ({ verb }: { verb: string }): ModelFault | null =>
      verb.startsWith('put') ? 'repeated' : null
    await requireConditionalWrites(new ModelStore().client({ fault }), NEVER)
  })

  const refusing = (header: string) => ({
    fault: ({ headers }: S3Request): S3Fault | null =>
      headers[header] === undefined ? null : { kind: 'refused', status: 412, code: 'PreconditionFailed' },
  })

  test.each([
    ['it ignores If-None-Match', { ignored: ['if-none-match'] }],
    ['it ignores If-Match', { ignored: ['if-match'] }],
    ['it refuses to create an object with If-None-Match', refusing('if-none-match')],
    ['it refuses to replace an object with If-Match', refusing('if-match')],
  ])('do not hold in a store of which the attempt says: %s', async (problem, options) => {
    const { store, server } = await open(options)
    await expect(requireConditionalWrites(store, NEVER)).rejects.toThrow(
      `s3://research/p: the store has no reliable conditional writes: ${problem}`,
    )
    expect(server.store.objects.size).toBe(0)
  })

  test.each(['If-None-Match', 'If-Match'])(
    'do not hold in a store that keeps %s for one write after the other, but not for several at once',
    async (header) => {
      const model = new ModelStore()
      const client = model.client()
      /** It looks first, and writes later. */
      const late = async (key: string, body: ObjectBody, etag: string | null): Promise<PutOutcome> => {
        const isKept = ((await client.get(key, NEVER))?.etag ?? null) === etag
        await nextTurn()
        if (!isKept || !(body instanceof Uint8Array)) return { kind: 'lost' }
        model.write(key, Buffer.from(body).toString())
        return { kind: 'written', etag: (await client.get(key, NEVER))?.etag ?? '' }
      }
      const racy =
        header === 'If-Match'
          ? { putIfMatch: late }
          : { putIfAbsent: (key: string, body: ObjectBody) => late(key, body, null) }
      await expect(requireConditionalWrites({ ...client, ...racy }, NEVER)).rejects.toThrow(
        `the store has no reliable conditional writes: of 8 writes at once with ${header}, 8 win`,
      )
      expect(model.objects.size).toBe(0)
    },
  )

  test('end with the first error of the store, although the deletion fails too', async () => {
    const store = new ModelStore().client({
      fault: ({ verb }) => (verb === 'delete' ? 'unreachable' : 'refused'),
    })
    await expect(requireConditionalWrites(store, NEVER)).rejects.toThrow(/putIfAbsent .* refused \(403\)/)
  })
})

describe('their proof', () => {
  const trial = () => {
    let nowMs = 0
    const model = new ModelStore({ nowMs: () => nowMs })
    return {
      model,
      pass: (ms: number) => {
        nowMs += ms
      },
      prove: (endpoint: string | null = null, store = model.client(), signal = NEVER) =>
        proveConditionalWrites(store, endpoint, signal),
      proofs: () =>
        model.requests.filter(({ verb, key }) => verb === 'delete' && key.startsWith('check/')).length,
    }
  }

  test('fails in each run at a store that ignores conditions, whatever earlier runs have left', async () => {
    const { model, prove } = trial()
    for (const verb of ['putIfAbsent', 'putIfMatch'] as const) model.ignored.add(verb)
    for (const run of [1, 2]) {
      await expect(prove(), `run ${run}`).rejects.toThrow('it ignores If-None-Match')
      expect([...model.objects.keys()].filter((key) => key !== 'lease.json')).toEqual([])
      model.write('lease.json', '{}')
    }
    model.ignored.clear()
    await prove()
    expect(model.objects.has(PROOF_KEY)).toBe(true)
  })

  test('is remembered, and the next runs send one request', async () => {
    const { model, prove, proofs } = trial()
    await prove()
    expect([...model.objects.keys()]).toEqual([PROOF_KEY])
    const from = model.requests.length
    await prove()
    expect(model.requests.slice(from)).toEqual([{ verb: 'get', key: PROOF_KEY }])
    expect(proofs()).toBe(1)
  })

  test('is made again after a week: a server may lose its conditions with an update', async () => {
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

  test('is made again for a copy of the bucket in another store or under another prefix', async () => {
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

  const UNREADABLE = ['', '{', '{"format":1}', '{"format":2,"store":"AWS s3://model/test"}']
  test.each(UNREADABLE)('is none if it cannot be read: %s', async (text) => {
    const { model, prove, proofs } = trial()
    model.write(PROOF_KEY, text)
    await prove()
    await prove()
    expect(proofs()).toBe(1)
  })

  const FAULTS: readonly ModelFault[] = ['refused', 'unreachable', 'lost_answer']
  test.each(FAULTS)('is neither remembered nor a verdict if it is interrupted: %s', async (fault) => {
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
  })

  test('is made again by the next run if it cannot be remembered', async () => {
    const { model, prove, proofs } = trial()
    const store = model.client({
      fault: ({ verb, key }) => (verb === 'putIfAbsent' && key === PROOF_KEY ? 'refused' : null),
    })
    await prove(null, store)
    await prove()
    await prove()
    expect(proofs()).toBe(2)
  })
})
