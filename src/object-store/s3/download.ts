/** Reads the body of an object. The SDK does not repeat a body that breaks off, and a short body must never pass for the whole. */
import { open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { GetObjectCommand, type GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { messageOf } from '../../base/errors.js'
import { throwIfAborted } from '../../base/signals.js'
import { ObjectStoreError } from '../object-store.js'
import { failure, type S3Connection, send } from './connection.js'
import { nameOf } from './failure.js'

/** How often a body is requested before it has failed. */
const BODIES_MAX = 3

export const getObject = async (connection: S3Connection, key: string, signal: AbortSignal) => {
  let body = Buffer.alloc(0)
  const answer = await receive(connection, key, signal, async (chunks) => {
    body = await buffer(chunks)
    return body.length
  })
  if (answer === null) return null
  const { ETag: etag, LastModified } = answer
  if (etag === undefined) throw new ObjectStoreError(`${connection.address}: ${key} has no ETag`)
  return { body, etag, ageMs: ageMs(LastModified, connection.dateOf(answer)) }
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
  const locally = <Value>(work: Promise<Value>): Promise<Value> =>
    work.catch((error: unknown) => {
      throw new ObjectStoreError(`cannot write ${path}: ${messageOf(error)}`, { cause: error })
    })
  // A file that is there already is somebody else's: it stays.
  const file = await locally(open(path, 'ax'))
  let isWhole = false
  try {
    const answer = await receive(connection, key, signal, async (chunks) => {
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

/** Called with each body: what was read before it is void. Returns how many bytes it has read. */
type Read = (chunks: AsyncIterable<Uint8Array>) => Promise<number>

/** Null if there is no such object. */
const receive = async (connection: S3Connection, key: string, signal: AbortSignal, read: Read) => {
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
      await readBody(answer, read)
      return answer
    } catch (error) {
      throwIfAborted(signal)
      if (error instanceof ObjectStoreError || attempt === BODIES_MAX)
        throw failure(connection, `read ${key}`, error)
    }
  }
}

const readBody = async ({ Body: body, ContentLength: length }: GetObjectCommandOutput, read: Read) => {
  if (!(body instanceof Readable)) throw new TypeError('the answer has no body')
  const bytes = await read(body).catch((error: unknown) => {
    body.destroy()
    throw error
  })
  if (length !== undefined && bytes !== length)
    throw new Error(`the object broke off after ${bytes} of ${length} bytes`)
}
