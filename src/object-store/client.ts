/**
 * The part of a store that S3 and Azure share, above a client with the SDK of each. No SDK repeats every body that breaks off, and a short
 * body must never pass for the whole.
 */
import { type FileHandle, open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import pLimit from 'p-limit'
import { messageOf } from '../base/errors.js'
import type { StoreAddress } from '../base/network.js'
import { throwIfAborted, unlessAborted } from '../base/signals.js'
import {
  type CopiedBody,
  type FileBody,
  type ObjectBody,
  type ObjectStore,
  ObjectStoreError,
  type PutOutcome,
} from './object-store.js'

/** The options to open a store. */
export interface ClientOptions extends StoreAddress {
  /** How often a request is sent before it counts as failed. */
  readonly attemptsMax?: number
  /** A connection without any byte for this long has failed. */
  readonly silenceMsMax?: number
}

export const ATTEMPTS_MAX = 5
export const SILENCE_MS_MAX = 30_000

/** The root of the keys of a store. */
export const placeOf = (scheme: 's3' | 'az', { bucket, prefix }: ClientOptions) => ({
  address: prefix === '' ? `${scheme}://${bucket}` : `${scheme}://${bucket}/${prefix}`,
  /** The prefix with its slash; empty without a prefix. */
  root: prefix === '' ? '' : `${prefix}/`,
})

/** The part of a client that messages need. */
export interface Sender extends ReturnType<typeof placeOf> {
  /** Says in one line why a request failed and what to check, without any credential. */
  readonly reasonOf: (error: unknown) => string
}

export interface StoreClient extends Sender, Pick<ObjectStore, 'list' | 'delete'> {
  /** Null if there is no such object. */
  read(key: string, signal: AbortSignal): Promise<Answer | null>
  putBytes(put: Put, bytes: Uint8Array): Promise<Written>
  /** A file that is larger than one request should be. */
  putFile(put: Put, body: FileBody, file: FileHandle, size: number): Promise<Written>
  putCopy(put: Put, body: CopiedBody): Promise<Written>
  close(): void
}

interface Answer {
  readonly body: unknown
  readonly bytes: number | undefined
  readonly etag: string | undefined
  readonly ageMs: number | null
}

export interface Put {
  readonly key: string
  /** The ETag of the object to replace; null: there must be no object. */
  readonly replaces: string | null
  /** A browser shows a page only if its type says so. All other objects keep the type of the store. */
  readonly type: string | undefined
  readonly signal: AbortSignal
}

/** The new ETag, or null if the condition did not hold. */
export type Written = string | undefined | null

const MIB = 1_048_576
/** A larger file is sent in parts of this size. Parts are larger if there would be too many. */
export const PART_BYTES_MIN = 8 * MIB
export const PARTS_AT_ONCE = 3
/** How often a body is requested before the read counts as failed. */
const BODIES_MAX = 3

export const storeOf = (client: StoreClient): ObjectStore => ({
  address: client.address,
  get: async (key, signal) => {
    let body = Buffer.alloc(0)
    const answer = await receive(client, key, signal, async (chunks) => {
      body = await buffer(chunks)
      return body.length
    })
    if (answer === null) return null
    const { etag, ageMs } = answer
    if (etag === undefined) throw new ObjectStoreError(`${client.address}: ${key} has no ETag`)
    return { body, etag, ageMs }
  },
  getToFile: (key, path, signal) => receiveToFile(client, key, path, signal),
  putIfAbsent: (key, body, signal) => put(client, { key, replaces: null, type: typeOf(key), signal }, body),
  putIfMatch: (key, body, etag, signal) =>
    put(client, { key, replaces: etag, type: typeOf(key), signal }, body),
  list: client.list,
  delete: client.delete,
  [Symbol.asyncDispose]: async () => client.close(),
})

const typeOf = (key: string) => (key.endsWith('.html') ? 'text/html; charset=utf-8' : undefined)

const put = async (client: StoreClient, to: Put, body: ObjectBody): Promise<PutOutcome> => {
  const etag = await putBody(client, to, body)
  if (etag === null) return { kind: 'lost' }
  if (etag === undefined)
    throw new ObjectStoreError(`${client.address}: the store gave no ETag for ${to.key}`)
  return { kind: 'written', etag }
}

const putBody = async (client: StoreClient, to: Put, body: ObjectBody): Promise<Written> => {
  if (body instanceof Uint8Array) return await client.putBytes(to, body)
  if ('copyOf' in body) return await client.putCopy(to, body)
  await using file = await open(body.file, 'r').catch((error: unknown) => {
    throw failure(client, `write ${to.key}`, error)
  })
  const { size } = await file.stat()
  if (size > PART_BYTES_MIN) return await client.putFile(to, body, file, size)
  const written = await client.putBytes(to, await file.readFile())
  body.onSent?.(size)
  return written
}

/** Called with each body, which replaces everything read from an earlier body. Returns the number of bytes. */
type Read = (chunks: AsyncIterable<Uint8Array>) => Promise<number>

/** Null if there is no such object. */
const receive = async (
  client: StoreClient,
  key: string,
  signal: AbortSignal,
  read: Read,
): Promise<Answer | null> => {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await client.read(key, signal)
    if (answer === null) return null
    try {
      const { body, bytes } = answer
      if (!(body instanceof Readable)) throw new TypeError('the answer has no body')
      const received = await read(body).catch((error: unknown) => {
        body.destroy()
        throw error
      })
      if (bytes === undefined || received === bytes) return answer
      throw new Error(`the object broke off after ${received} of ${bytes} bytes`)
    } catch (error) {
      throwIfAborted(signal)
      if (error instanceof ObjectStoreError || attempt === BODIES_MAX)
        throw failure(client, `read ${key}`, error)
    }
  }
}

/** Removes the file if the object is not read to its end. */
const receiveToFile = async (client: StoreClient, key: string, path: string, signal: AbortSignal) => {
  const locally = <Value>(work: Promise<Value>): Promise<Value> =>
    work.catch((error: unknown) => {
      throw new ObjectStoreError(`cannot write ${path}: ${messageOf(error)}`, { cause: error })
    })
  // A file that exists already belongs to somebody else, and stays.
  const file = await locally(open(path, 'ax'))
  let isWhole = false
  try {
    const answer = await receive(client, key, signal, async (chunks) => {
      let bytes = 0
      // Every write appends, also after the file was emptied.
      await locally(file.truncate(0))
      for await (const chunk of chunks) {
        await locally(file.appendFile(chunk))
        bytes += chunk.length
      }
      return bytes
    })
    isWhole = answer !== null
    return isWhole
  } finally {
    await file.close()
    if (!isWhole) await rm(path, { force: true })
  }
}

/** Works on all items, at most `atOnce` at the same time. The first failure aborts the others, and is thrown when all have ended. */
export const allAtMost = async <Item, Result>(
  atOnce: number,
  items: readonly Item[],
  callerSignal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> => {
  const failed = new AbortController()
  const signal = AbortSignal.any([callerSignal, failed.signal])
  const limit = pLimit(atOnce)
  const works = items.map((item) =>
    limit(async () => {
      throwIfAborted(signal)
      return await work(item, signal)
    }),
  )
  for (const work of works) work.catch((error: unknown) => failed.abort(error))
  await Promise.allSettled(works)
  if (!failed.signal.aborted) return await Promise.all(works)
  throwIfAborted(callerSignal)
  throw failed.signal.reason
}

/** The age by the store's own clock. At least 0, although both times are cut to whole seconds. */
export const ageMs = (lastModified: Date | undefined, nowMs: number | null): number | null =>
  lastModified === undefined || nowMs === null ? null : Math.max(0, nowMs - lastModified.getTime())

/** What a request was for, in messages: `cannot write current.json`. */
export type Purpose = `${'read' | 'write' | 'list' | 'delete'} ${string}`

/**
 * Sends every request, with the retries of its client. `whenRefused` may turn an error into a result; if it returns undefined, the error is
 * thrown as an `ObjectStoreError`. When `signal` aborts, this rejects at once, also while the client waits for its next attempt.
 */
export const sendRequest = async <Output, Refusal = never>(
  sender: Sender,
  purpose: Purpose,
  signal: AbortSignal,
  request: () => Promise<Output>,
  whenRefused: (error: unknown) => Refusal | undefined = () => undefined,
): Promise<Output | Refusal> => {
  throwIfAborted(signal)
  try {
    return await unlessAborted(signal, request())
  } catch (error) {
    throwIfAborted(signal)
    const answer = whenRefused(error)
    if (answer !== undefined) return answer
    throw failure(sender, purpose, error)
  }
}

/** The error of the client is not the cause, because it holds the whole request, with the id of the access key. */
const failure = ({ address, reasonOf }: Sender, purpose: Purpose, error: unknown): ObjectStoreError =>
  error instanceof ObjectStoreError
    ? error
    : new ObjectStoreError(`${address}: cannot ${purpose}: ${reasonOf(error)}`)
