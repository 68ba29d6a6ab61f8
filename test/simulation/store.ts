/** The way of a process to the bucket: latency and faults, drawn for each request. A request that was sent happens though its sender died. */
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { messageOf } from '../../src/base/errors.js'
import { throwIfAborted, unlessAborted } from '../../src/base/signals.js'
import {
  listAll,
  type ObjectBody,
  type ObjectStore,
  ObjectStoreError,
} from '../../src/object-store/object-store.js'
import type { OpenStore } from '../../src/object-store/open.js'
import { NEVER } from '../support/storage/bucket.js'
import { assembled } from '../support/storage/model-store.js'
import { type Generation, generations, never } from './generation.js'
import type { NetworkLog } from './network.js'
import { type BucketStart, STORE_FAULTS } from './plan-bucket.js'
import { createRandom, drawFault, type Random } from './random.js'

/** As in `src/object-store/s3/connection.ts`. */
const ATTEMPTS_MAX = 5
const SILENCE_MS_MAX = 30_000
const SLOW_MS_MAX = 12_000
/** A request arrives at most so long after its client gave up. */
const LATE_MS_MAX = 200_000

interface StoreOptions {
  readonly store: ObjectStore
  readonly start: BucketStart
  readonly log: NetworkLog
  readonly generation: Generation
  readonly isOut: () => boolean
}

/** All stores of a process draw from one stream. */
export const createOpenStore = (options: StoreOptions): OpenStore => {
  const random = createRandom(options.start.seed)
  return ({ attemptsMax = ATTEMPTS_MAX, silenceMsMax = SILENCE_MS_MAX }) => {
    const gaveUpMs = attemptsMax * silenceMsMax
    const send: Way['send'] = (what, signal, act) =>
      sendRequest({ ...options, random, gaveUpMs }, what, signal, act)
    return Promise.resolve(clientOn(options.store, { send, bytesIn: readFileSync, keep }))
  }
}

/** What a request of a process passes. */
export interface Way {
  send<Result>(what: string, signal: AbortSignal, act: () => Promise<Result>): Promise<Result>
  bytesIn(file: string): Uint8Array
  /** What becomes of a part that the store copies. */
  copied?(part: Buffer): Buffer
  /** Writes a downloaded body to a new file. Returns whether there was one. */
  keep(path: string, body: Uint8Array): Promise<void>
}

export const clientOn = (store: ObjectStore, { send, bytesIn, keep, copied }: Way): ObjectStore => {
  const put = async (
    what: string,
    body: ObjectBody,
    signal: AbortSignal,
    act: (bytes: ObjectBody) => ReturnType<ObjectStore['putIfAbsent']>,
  ) => {
    if (!('file' in body))
      return await send(what, signal, () => act('copyOf' in body ? body : Buffer.from(body)))
    const bytes = Buffer.from(bytesIn(body.file))
    const bytesOf = async (key: string) => (await store.get(key, NEVER))?.body
    return await send(what, signal, async () => act(await assembled(bytes, body, bytesOf, copied)))
  }
  return {
    address: store.address,
    get: (key, signal) => send(`get ${key}`, signal, () => store.get(key, NEVER)),
    getToFile: async (key, path, signal) => {
      const found = await send(`getToFile ${key}`, signal, () => store.get(key, NEVER))
      if (found !== null) await keep(path, found.body)
      return found !== null
    },
    putIfAbsent: (key, body, signal) =>
      put(`putIfAbsent ${key}`, body, signal, (bytes) => store.putIfAbsent(key, bytes, NEVER)),
    putIfMatch: (key, body, etag, signal) =>
      put(`putIfMatch ${key}`, body, signal, (bytes) => store.putIfMatch(key, bytes, etag, NEVER)),
    list: async function* (prefix, signal) {
      yield* await send(`list ${prefix}`, signal, () => listAll(store, prefix, NEVER))
    },
    delete: (keys, signal) => send(`delete ${keys.length} objects`, signal, () => store.delete(keys, NEVER)),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** As the real client writes a downloaded body. */
const keep = async (path: string, body: Uint8Array): Promise<void> => {
  try {
    await writeFile(path, body, { flag: 'wx' })
  } catch (error) {
    await rm(path, { force: true })
    throw new ObjectStoreError(`cannot write ${path}: ${messageOf(error)}`, { cause: error })
  }
}

interface Sending extends StoreOptions {
  readonly random: Random
  /** The client gives up a request after so long. */
  readonly gaveUpMs: number
}

const sendRequest = async <Result>(
  { start, log, generation, isOut, random, gaveUpMs }: Sending,
  what: string,
  signal: AbortSignal,
  act: () => Promise<Result>,
): Promise<Result> => {
  throwIfAborted(signal)
  const drawn = drawFault(random, STORE_FAULTS, start.faults)
  const outboundMs = random.unit() * start.latencyMsMax
  const inboundMs = random.unit() * start.latencyMsMax
  const extraMs = random.unit()
  // Documents have steps of their own. Other objects share those of their folder.
  const step = what.startsWith('delete') ? 'delete' : what.split('/')[0]
  const verdict = generation.step(`store.${step}`, what)
  const fault = isOut() && start.outage !== null ? start.outage.fault : drawn
  if (verdict === 'dead') return await never()
  if (fault !== null) log.events.push(`store: ${what}: ${fault}`)
  if (verdict === 'crash_before') generation.die()
  else if (verdict !== 'go') {
    void arrive(outboundMs, act).then(() => generation.die())
    return await never()
  }
  if (generation.dead) return await never()
  const fail = async (ms: number, why: string) => {
    await wait(ms, signal)
    throw new ObjectStoreError(`${what}: ${why}`)
  }
  if (fault === 'refused') return await fail(inboundMs, 'refused (403)')
  if (fault === 'unreachable')
    return await fail(inboundMs + extraMs * SLOW_MS_MAX, 'reduce your request rate (503)')
  if (fault === 'silent') return await fail(gaveUpMs, 'no answer')
  if (fault === 'late') {
    void arrive(gaveUpMs + extraMs * (LATE_MS_MAX - 1), act)
    return await fail(gaveUpMs, 'no answer yet')
  }
  const result = await unlessAborted(signal, arrive(outboundMs, act))
  if (fault === 'lost_answer') return await fail(inboundMs, 'the answer was lost')
  if (fault === 'slow') await wait(extraMs * SLOW_MS_MAX, signal)
  await wait(inboundMs, signal)
  return fault === 'repeated' ? await unlessAborted(signal, arrive(inboundMs, act)) : result
}

/** Lets a request happen in the store. The timer belongs to no process. */
const arrive = <Result>(afterMs: number, act: () => Promise<Result>): Promise<Result> =>
  generations.exit(
    () =>
      new Promise((resolve, reject) => {
        setTimeout(() => void act().then(resolve, reject), afterMs)
      }),
  )

const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  unlessAborted(signal, new Promise((resolve) => setTimeout(resolve, ms)))
