/** Reads the body of an object. The SDK does not repeat a body that breaks off, and a short body must never pass for the whole. */
import { type FileHandle, open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { GetObjectCommand, type GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { throwIfAborted } from '../../base/clock.js'
import { messageOf } from '../../base/errors.js'
import { ObjectStoreError } from '../object-store.js'
import { failure, type S3Connection, send } from './connection.js'
import { nameOf } from './failure.js'

/** How often a body is requested before it has failed. */
const BODIES_MAX = 3

export const getObject = async (connection: S3Connection, key: string, signal: AbortSignal) => {
  let chunks: Uint8Array[] = []
  const answer = await receive(connection, key, signal, () => {
    chunks = []
    return Promise.resolve(async (chunk) => void chunks.push(chunk))
  })
  if (answer === null) return null
  const { ETag: etag, LastModified } = answer
  if (etag === undefined) throw new ObjectStoreError(`${connection.address}: ${key} has no ETag`)
  return { body: Buffer.concat(chunks), etag, ageMs: ageMs(LastModified, connection.dateOf(answer)) }
}

/** Never negative: both times are whole seconds of one clock. */
export const ageMs = (lastModified: Date | undefined, nowMs: number | null): number | null =>
  lastModified === undefined || nowMs === null ? null : Math.max(0, nowMs - lastModified.getTime())

export const getObjectToFile = async (
  connection: S3Connection,
  key: string,
  path: string,
  signal: AbortSignal,
): Promise<boolean> => {
  let file: FileHandle | null = null
  let isWhole = false
  const locally = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      throw new ObjectStoreError(`cannot write ${path}: ${messageOf(error)}`, { cause: error })
    }
  }
  try {
    const answer = await receive(connection, key, signal, async () => {
      await locally(async () => {
        // Every write appends, also after the file was emptied.
        file ??= await open(path, 'ax')
        await file.truncate(0)
      })
      return (chunk) => locally(async () => file?.appendFile(chunk))
    })
    isWhole = answer !== null
    return isWhole
  } finally {
    await closeFile(file, isWhole ? null : path)
  }
}

/** A file that we did not open is somebody else's: it stays. */
const closeFile = async (file: FileHandle | null, removed: string | null): Promise<void> => {
  if (file === null) return
  await file.close()
  if (removed !== null) await rm(removed, { force: true })
}

/** Called before each body: what was written so far is void. Returns what writes a chunk. */
type Begin = () => Promise<(chunk: Uint8Array) => Promise<void>>

/** Null if there is no such object. */
const receive = async (connection: S3Connection, key: string, signal: AbortSignal, begin: Begin) => {
  const { bucket, root } = connection
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send(
      connection,
      `read ${key}`,
      signal,
      new GetObjectCommand({ Bucket: bucket, Key: `${root}${key}` }),
      // Any other 404, such as the page of a proxy, must not pass for an empty bucket.
      (error) => (nameOf(error) === 'NoSuchKey' ? null : undefined),
    )
    if (answer === null) return null
    try {
      await drain(answer, begin)
      return answer
    } catch (error) {
      throwIfAborted(signal)
      if (error instanceof ObjectStoreError || attempt === BODIES_MAX)
        throw failure(connection, `read ${key}`, error)
    }
  }
}

const drain = async ({ Body: body, ContentLength: length }: GetObjectCommandOutput, begin: Begin) => {
  if (!(body instanceof Readable)) throw new TypeError('the answer has no body')
  // Iterating destroys the stream when a write fails.
  const chunks: AsyncIterable<Uint8Array> = body
  let bytes = 0
  const write = await begin().catch((error: unknown) => {
    body.destroy()
    throw error
  })
  for await (const chunk of chunks) {
    await write(chunk)
    bytes += chunk.length
  }
  if (length !== undefined && bytes !== length)
    throw new Error(`the object broke off after ${bytes} of ${length} bytes`)
}
