/** The way of a process to the bucket: latency and faults, drawn for each request. A request that was sent happens though its sender died. */
import { setMaxListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { abortReason, throwIfAborted } from '../../src/base/clock.js'
import { messageOf } from '../../src/base/errors.js'
import {
  type ListedObject,
  type ObjectBody,
  type ObjectStore,
  ObjectStoreError,
} from '../../src/object-store/object-store.js'
import type { OpenStore } from '../../src/object-store/s3.js'
import { type Generation, generations } from './generation.js'
import type { NetworkLog } from './network.js'
import { type BucketStart, STORE_FAULTS, type StoreFault } from './plan-bucket.js'
import { createRandom, type Random } from './random.js'

const NEVER = new AbortController().signal
/** As in `src/object-store/s3/connection.ts`. */
const ATTEMPTS_MAX = 5
const SILENCE_MS_MAX = 30_000
const SLOW_MS_MAX = 12_000
/** A request arrives at most so long after its client gave up. */
export const LATE_MS_MAX = 200_000

export interface StoreOptions {
  /** A client without faults. */
  readonly store: ObjectStore
  readonly start: BucketStart
  readonly log: NetworkLog
  readonly generation: Generation
  /** Whether the store is away. */
  readonly isOut: () => boolean
}

/** All stores of a process draw from one stream. */
export const createOpenStore = (options: StoreOptions): OpenStore => {
  const random = createRandom(options.start.seed)
  return ({ attemptsMax = ATTEMPTS_MAX, silenceMsMax = SILENCE_MS_MAX }) => {
    const gaveUpMs = attemptsMax * silenceMsMax
    const client = clientOf(options.store, (verb, key, signal, act) =>
      sendRequest({ ...options, random, gaveUpMs }, `${verb} ${key}`, signal, act),
    )
    return Promise.resolve(client)
  }
}

type Send = <Result>(
  verb: string,
  key: string,
  signal: AbortSignal,
  act: () => Promise<Result>,
) => Promise<Result>

const clientOf = (store: ObjectStore, send: Send): ObjectStore => {
  const put = async (
    verb: 'putIfAbsent' | 'putIfMatch',
    key: string,
    body: ObjectBody,
    signal: AbortSignal,
    act: (bytes: Uint8Array) => ReturnType<ObjectStore['putIfAbsent']>,
  ) => {
    const bytes = 'file' in body ? readFileSync(body.file) : Buffer.from(body)
    const outcome = await send(verb, key, signal, () => act(bytes))
    if ('file' in body) body.onSent?.(bytes.length, bytes.length)
    return outcome
  }
  return {
    address: store.address,
    get: (key, signal) => send('get', key, signal, () => store.get(key, NEVER)),
    getToFile: async (key, path, signal) => {
      const found = await send('getToFile', key, signal, () => store.get(key, NEVER))
      if (found !== null) await keep(path, found.body)
      return found !== null
    },
    putIfAbsent: (key, body, signal) =>
      put('putIfAbsent', key, body, signal, (bytes) => store.putIfAbsent(key, bytes, NEVER)),
    putIfMatch: (key, body, etag, signal) =>
      put('putIfMatch', key, body, signal, (bytes) => store.putIfMatch(key, bytes, etag, NEVER)),
    list: async function* (prefix, signal) {
      yield* await send('list', prefix, signal, async () => {
        const listed: ListedObject[] = []
        for await (const object of store.list(prefix, NEVER)) listed.push(object)
        return listed
      })
    },
    delete: (keys, signal) =>
      send('delete', `${keys.length} objects`, signal, () => store.delete(keys, NEVER)),
    close: async () => undefined,
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
  const drawn = drawFault(random, start)
  const outboundMs = random.unit() * start.latencyMsMax
  const inboundMs = random.unit() * start.latencyMsMax
  const extraMs = random.unit()
  const verdict = generation.step(`store.${stepName(what)}`, what)
  const fault = isOut() && start.outage !== null ? start.outage.fault : drawn
  if (verdict === 'dead') return await new Promise<never>(() => undefined)
  if (fault !== null) log.events.push(`store: ${what}: ${fault}`)
  if (verdict === 'crash_before') generation.die()
  else if (verdict !== 'go') return await dieAfter(generation, outboundMs, act)
  if (generation.dead) return await new Promise<never>(() => undefined)
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
  const result = await waitFor(arrive(outboundMs, act), signal)
  if (fault === 'lost_answer') return await fail(inboundMs, 'the answer was lost')
  if (fault === 'slow') await wait(extraMs * SLOW_MS_MAX, signal)
  await wait(inboundMs, signal)
  return fault === 'repeated' ? await waitFor(arrive(inboundMs, act), signal) : result
}

/** Documents have steps of their own. Other objects share those of their folder. */
const stepName = (what: string): string =>
  what.startsWith('delete') ? 'delete' : (what.split('/')[0] ?? what)

const drawFault = (random: Random, { faults }: BucketStart): StoreFault | null => {
  let left = random.unit()
  for (const kind of STORE_FAULTS) {
    left -= faults[kind] ?? 0
    if (left < 0) return kind
  }
  return null
}

const dieAfter = async <Result>(
  generation: Generation,
  afterMs: number,
  act: () => Promise<Result>,
): Promise<never> => {
  void arrive(afterMs, act).then(() => generation.die())
  return await new Promise<never>(() => undefined)
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
  waitFor(new Promise((resolve) => setTimeout(resolve, ms)), signal)

/** Rejects at once when `signal` aborts, as the real client does. */
const waitFor = async <Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> => {
  throwIfAborted(signal)
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(abortReason(signal))
  })
  setMaxListeners(0, signal)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
