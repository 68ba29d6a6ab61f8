/** Reads the body of an object. */
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { GetObjectCommand, type GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { ObjectStoreError } from '../object-store.js'
import { ageMs, type Read, receiveBody, receiveToFile } from '../received.js'
import { type S3Connection, send } from './connection.js'
import { nameOf } from './failure.js'

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

export const getObjectToFile = (
  connection: S3Connection,
  key: string,
  path: string,
  signal: AbortSignal,
): Promise<boolean> =>
  receiveToFile(path, async (read) => (await receive(connection, key, signal, read)) !== null)

const receive = (connection: S3Connection, key: string, signal: AbortSignal, read: Read) =>
  receiveBody<GetObjectCommandOutput>(
    {
      sender: connection,
      key,
      signal,
      request: () =>
        send(
          connection,
          `read ${key}`,
          signal,
          new GetObjectCommand({ Bucket: connection.bucket, Key: `${connection.root}${key}` }),
          // Any other 404, such as the page of a proxy, must not pass for an empty bucket.
          (error) => (nameOf(error) === 'NoSuchKey' ? null : undefined),
        ),
      bodyOf: ({ Body: body, ContentLength: length }) => {
        if (!(body instanceof Readable)) throw new TypeError('the answer has no body')
        return { body, length }
      },
    },
    read,
  )
