/**
 * Writes an object under a condition: one request for a small body, a multipart upload for a large file or a copy. The parts of a file are
 * read one after the other into few buffers, so memory does not grow with the file. Aborting stops the parts that are being sent.
 */
import type { FileHandle } from 'node:fs/promises'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { allAtMost, PART_BYTES_MIN, PARTS_AT_ONCE, type Put, type Written } from '../client.js'
import { type CopiedBody, type FileBody, ObjectStoreError } from '../object-store.js'
import { type S3Connection, send } from './connection.js'
import { nameOf, statusOf } from './failure.js'

const PARTS_MAX = 10_000
/** With this many parts, a part of a copy stays below S3's limit of 5 GiB for objects up to 500 GiB. */
const COPIED_PARTS_MAX = 100
/** Uploaded parts of a failed upload cost storage, so we request the store to drop them. This must not hold up the end of a run. */
const ABANDON_MS_MAX = 2_000

export const putBytes = async (connection: S3Connection, put: Put, body: Uint8Array): Promise<Written> => {
  const command = new PutObjectCommand({ ...objectOf(connection, put), ...conditionOf(put), Body: body })
  return etagOf(await send(connection, `write ${put.key}`, put.signal, command, lostBy))
}

const targetOf = ({ bucket, root }: S3Connection, { key }: Put) => ({ Bucket: bucket, Key: `${root}${key}` })

const objectOf = (connection: S3Connection, put: Put) => ({
  ...targetOf(connection, put),
  ...(put.type === undefined ? {} : { ContentType: put.type }),
})

const conditionOf = ({ replaces }: Put) => (replaces === null ? { IfNoneMatch: '*' } : { IfMatch: replaces })

const LOST_STATUS = [409, 412]
/** The object to replace is gone, or a repeated request finds that its upload is completed already. */
const LOST_NAMES = ['NoSuchKey', 'NoSuchUpload']

const lostBy = (error: unknown): null | undefined =>
  LOST_STATUS.includes(statusOf(error) ?? 0) || LOST_NAMES.includes(nameOf(error)) ? null : undefined

const etagOf = (answer: { readonly ETag?: string | undefined } | null): Written =>
  answer === null ? null : answer.ETag

/** Makes an upload of several parts. The condition is checked when all parts have arrived. `sendPart` returns the ETag of its part. */
const putParts = async (
  connection: S3Connection,
  put: Put,
  { size, partsMax }: { readonly size: number; readonly partsMax: number },
  sendPart: (part: Part, signal: AbortSignal) => Promise<string | undefined>,
): Promise<Written> => {
  const { key, signal } = put
  const creation = new CreateMultipartUploadCommand(objectOf(connection, put))
  const { UploadId } = await send(connection, `write ${key}`, signal, creation)
  const upload = { ...targetOf(connection, put), UploadId }
  const partBytes = Math.max(PART_BYTES_MIN, Math.ceil(size / partsMax))
  const numbers = Array.from({ length: Math.ceil(size / partBytes) }, (_, index) => index + 1)
  try {
    const Parts = await allAtMost(PARTS_AT_ONCE, numbers, signal, async (PartNumber, until) => {
      const position = (PartNumber - 1) * partBytes
      const part = { ...upload, PartNumber, position, bytes: Math.min(partBytes, size - position) }
      return { PartNumber, ETag: await sendPart(part, until) }
    })
    const whole = { ...upload, ...conditionOf(put), MultipartUpload: { Parts } }
    const completion = new CompleteMultipartUploadCommand(whole)
    const answer = await send(connection, `write ${key}`, signal, completion, lostBy)
    if (answer === null) await abandon(connection, upload)
    return etagOf(answer)
  } catch (error) {
    await abandon(connection, upload)
    throw error
  }
}

type Upload = ReturnType<typeof targetOf> & { readonly UploadId: string | undefined }

interface Part extends Upload {
  /** From 1. */
  readonly PartNumber: number
  readonly position: number
  readonly bytes: number
}

export const putFile = (
  connection: S3Connection,
  put: Put,
  { onSent }: FileBody,
  file: FileHandle,
  size: number,
): Promise<Written> => {
  const free: Buffer[] = []
  const parts = { size, partsMax: PARTS_MAX }
  return putParts(connection, put, parts, async ({ position, bytes, ...part }, signal) => {
    const buffer = free.pop() ?? Buffer.allocUnsafe(bytes)
    const Body = await readPart(file, buffer.subarray(0, bytes), position)
    const { ETag } = await send(
      connection,
      `write ${put.key}`,
      signal,
      new UploadPartCommand({ ...part, Body }),
    )
    free.push(buffer)
    onSent?.(bytes)
    return ETag
  })
}

/** CopyObject is not used: it ends at 5 GiB, needs more permissions, and few servers check its condition. */
export const putCopy = (connection: S3Connection, put: Put, { copyOf, bytes: size }: CopiedBody) => {
  const { bucket, root } = connection
  const CopySource = `${bucket}/${root}${copyOf}`.split('/').map(encodeURIComponent).join('/')
  const parts = { size, partsMax: COPIED_PARTS_MAX }
  return putParts(connection, put, parts, async ({ position, bytes, ...part }, signal) => {
    const CopySourceRange = `bytes=${position}-${position + bytes - 1}`
    const command = new UploadPartCopyCommand({ ...part, CopySource, CopySourceRange })
    const answer = await send(connection, `write ${put.key}`, signal, command)
    return answer.CopyPartResult?.ETag
  })
}

/** Fills `buffer` from the file. */
const readPart = async (file: FileHandle, buffer: Buffer, position: number): Promise<Buffer> => {
  for (let filled = 0; filled < buffer.length; ) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled)
    if (bytesRead === 0) throw new ObjectStoreError('a file became shorter while it was uploaded')
    filled += bytesRead
  }
  return buffer
}

const abandon = async ({ client }: S3Connection, upload: Upload): Promise<void> => {
  const request = client.send(new AbortMultipartUploadCommand(upload), {
    abortSignal: AbortSignal.timeout(ABANDON_MS_MAX),
  })
  // The upload may be gone already, and the store's life-cycle rule removes parts that stay.
  await request.catch(() => undefined)
}
