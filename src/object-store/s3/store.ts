/** The verbs of the port, as requests to S3. */
import { DeleteObjectsCommand, GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import { ageMs, type ClientOptions, storeOf } from '../client.js'
import { type ListedObject, type ObjectStore, ObjectStoreError } from '../object-store.js'
import { connect, type S3Connection, send } from './connection.js'
import { nameOf } from './failure.js'
import { putBytes, putCopy, putFile } from './upload.js'

/** The most objects that one request may name. */
const DELETED_AT_ONCE = 1_000

export const openS3Store = async (options: ClientOptions): Promise<ObjectStore> => {
  const connection = await connect(options)
  return storeOf({
    ...connection,
    read: (key, signal) => getObject(connection, key, signal),
    putBytes: (put, bytes) => putBytes(connection, put, bytes),
    putFile: (put, body, file, size) => putFile(connection, put, body, file, size),
    putCopy: (put, body) => putCopy(connection, put, body),
    list: (prefix, signal) => listObjects(connection, prefix, signal),
    delete: async (keys, signal) => {
      for (let from = 0; from < keys.length; from += DELETED_AT_ONCE)
        await deleteObjects(connection, keys.slice(from, from + DELETED_AT_ONCE), signal)
    },
    close: () => connection.client.destroy(),
  })
}

const getObject = async (connection: S3Connection, key: string, signal: AbortSignal) => {
  const command = new GetObjectCommand({ Bucket: connection.bucket, Key: `${connection.root}${key}` })
  // Any other 404, such as the page of a proxy, must not pass for an empty bucket.
  const answer = await send(connection, `read ${key}`, signal, command, (error) =>
    nameOf(error) === 'NoSuchKey' ? null : undefined,
  )
  if (answer === null) return null
  const { Body: body, ContentLength: bytes, ETag: etag, LastModified } = answer
  return { body, bytes, etag, ageMs: ageMs(LastModified, connection.dateOf(answer)) }
}

/** We request keys without URL-encoding, because servers encode differently, and our keys have only characters that XML can hold. */
async function* listObjects(
  connection: S3Connection,
  prefix: string,
  signal: AbortSignal,
): AsyncIterable<ListedObject> {
  const { bucket, root } = connection
  let token: string | undefined
  do {
    const command = new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: `${root}${prefix}`,
      ...(token === undefined ? {} : { ContinuationToken: token }),
    })
    const page = await send(connection, `list ${prefix}`, signal, command)
    for (const { Key: key, Size: bytes, ETag: etag, LastModified } of page.Contents ?? []) {
      if (key === undefined || bytes === undefined || etag === undefined) continue
      yield { key: key.slice(root.length), bytes, etag, ageMs: ageMs(LastModified, connection.dateOf(page)) }
    }
    if (page.IsTruncated === true && page.NextContinuationToken === undefined)
      throw new ObjectStoreError(`${connection.address}: a listing of ${prefix} ended early`)
    token = page.NextContinuationToken
  } while (token !== undefined)
}

const deleteObjects = async (connection: S3Connection, keys: readonly string[], signal: AbortSignal) => {
  const { address, bucket, root } = connection
  const Objects = keys.map((key) => ({ Key: `${root}${key}` }))
  const what = keys.length === 1 ? keys[0] : `${keys.length} objects`
  const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } })
  const answer = await send(connection, `delete ${what}`, signal, command)
  const errors = (answer.Errors ?? []).filter(({ Code }) => Code !== 'NoSuchKey')
  const [first] = errors
  if (first === undefined) return
  throw new ObjectStoreError(
    `${address}: cannot delete ${errors.length} of ${keys.length} objects, such as ${first.Key}: ${first.Code}`,
  )
}
