/**
 * Writes an object under a condition: one request for a small body, a multipart upload for a large file or a copy. The parts of a file are
 * read one after the other into few buffers, so memory does not grow with the file. Aborting stops the parts that are being sent.
 */
import { type FileHandle, open } from 'node:fs/promises'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import {
  type CopiedBody,
  type FileBody,
  type ObjectBody,
  ObjectStoreError,
  type PutOutcome,
} from '../object-store.js'
import { failure } from '../send.js'
import { type S3Connection, send } from './connection.js'
import { nameOf, statusOf } from './failure.js'

const MIB = 1_048_576
const PART_BYTES_MIN = 8 * MIB
const PARTS_MAX = 10_000
const PARTS_AT_ONCE = 3
/** So a part of a copy has less than S3's 5 GiB up to 500 GiB. */
const COPIED_PARTS_MAX = 100
/** Parts that stay behind cost storage, so the store is requested to drop them, but this must not hold up the end of a run. */
const ABANDON_MS_MAX = 2_000

interface Put {
  readonly connection: S3Connection
  readonly key: string
  readonly condition: { readonly IfNoneMatch: '*' } | { readonly IfMatch: string }
  readonly signal: AbortSignal
}

export const putObject = async (put: Put, body: ObjectBody): Promise<PutOutcome> => {
  if (body instanceof Uint8Array) return await putBytes(put, body)
  if ('copyOf' in body) return await putParts(put, copyParts(put, body))
  await using file = await open(body.file, 'r').catch((error: unknown) => {
    throw failure(put.connection, `write ${put.key}`, error)
  })
  const { size } = await file.stat()
  if (size > PART_BYTES_MIN) return await putParts(put, fileParts(put, file, size, body))
  const outcome = await putBytes(put, await readPart(file, Buffer.alloc(size), 0))
  body.onSent?.(size)
  return outcome
}

const target = ({ connection: { bucket, root }, key }: Put) => ({ Bucket: bucket, Key: `${root}${key}` })

/** A browser shows a page only if its type says so. All other objects keep the type of the store. */
const typeOf = ({ key }: Put) => (key.endsWith('.html') ? { ContentType: 'text/html; charset=utf-8' } : {})

const putBytes = async (put: Put, body: Uint8Array): Promise<PutOutcome> => {
  const { connection, key, condition, signal } = put
  const command = new PutObjectCommand({ ...target(put), ...typeOf(put), ...condition, Body: body })
  return outcomeOf(put, await send(connection, `write ${key}`, signal, command, lostBy))
}

const LOST_STATUS = [409, 412]
/** The object to replace is gone, or a repeated request finds that its upload is completed already. */
const LOST_NAMES = ['NoSuchKey', 'NoSuchUpload']

const lostBy = (error: unknown): { readonly kind: 'lost' } | undefined =>
  LOST_STATUS.includes(statusOf(error) ?? 0) || LOST_NAMES.includes(nameOf(error))
    ? { kind: 'lost' }
    : undefined

const outcomeOf = (
  put: Put,
  answer: { readonly kind: 'lost' } | { readonly ETag?: string | undefined },
): PutOutcome => {
  if ('kind' in answer) return answer
  if (answer.ETag === undefined)
    throw new ObjectStoreError(`${put.connection.address}: the store gave no ETag for ${put.key}`)
  return { kind: 'written', etag: answer.ETag }
}

/** Makes an upload of several parts, whose condition is checked when they have arrived. */
const putParts = async (put: Put, parts: Parts): Promise<PutOutcome> => {
  const { connection, key, condition, signal } = put
  const to = target(put)
  const creation = new CreateMultipartUploadCommand({ ...to, ...typeOf(put) })
  const { UploadId } = await send(connection, `write ${key}`, signal, creation)
  const upload = { ...to, UploadId }
  try {
    const Parts = await sendParts(put, upload, parts)
    const whole = { ...upload, ...condition, MultipartUpload: { Parts } }
    const completion = new CompleteMultipartUploadCommand(whole)
    const answer = await send(connection, `write ${key}`, signal, completion, lostBy)
    if ('kind' in answer) await abandon(put, upload)
    return outcomeOf(put, answer)
  } catch (error) {
    await abandon(put, upload)
    throw error
  }
}

type Upload = ReturnType<typeof target> & { readonly UploadId: string | undefined }

interface Part extends Upload {
  /** From 1. */
  readonly PartNumber: number
  readonly position: number
  readonly bytes: number
}

interface Parts {
  readonly size: number
  readonly partsMax: number
  /** Makes a sender, which sends one part after the other and returns the ETag of each. */
  readonly sender: (partBytes: number) => (part: Part, signal: AbortSignal) => Promise<string | undefined>
}

const fileParts = (put: Put, file: FileHandle, size: number, { onSent }: FileBody): Parts => ({
  size,
  partsMax: PARTS_MAX,
  sender: (partBytes) => {
    const buffer = Buffer.allocUnsafe(partBytes)
    return async ({ position, bytes, ...part }, signal) => {
      const Body = await readPart(file, buffer.subarray(0, bytes), position)
      const command = new UploadPartCommand({ ...part, Body })
      const { ETag } = await send(put.connection, `write ${put.key}`, signal, command)
      onSent?.(bytes)
      return ETag
    }
  },
})

/** Not CopyObject: it ends at 5 GiB, needs more permissions, and few servers keep its condition. */
const copyParts = ({ connection, key }: Put, { copyOf, bytes: size }: CopiedBody): Parts => {
  const { bucket, root } = connection
  const CopySource = `${bucket}/${root}${copyOf}`.split('/').map(encodeURIComponent).join('/')
  return {
    size,
    partsMax: COPIED_PARTS_MAX,
    sender:
      () =>
      async ({ position, bytes, ...part }, signal) => {
        const CopySourceRange = `bytes=${position}-${position + bytes - 1}`
        const command = new UploadPartCopyCommand({ ...part, CopySource, CopySourceRange })
        const answer = await send(connection, `write ${key}`, signal, command)
        return answer.CopyPartResult?.ETag
      },
  }
}

const sendParts = async (put: Put, upload: Upload, { size, partsMax, sender }: Parts) => {
  const partBytes = Math.max(PART_BYTES_MIN, Math.ceil(size / partsMax))
  const count = Math.ceil(size / partBytes)
  const parts: CompletedPart[] = []
  const failed = new AbortController()
  const signal = AbortSignal.any([put.signal, failed.signal])
  let begun = 0
  const sendSome = async (): Promise<void> => {
    const sendPart = sender(partBytes)
    while (begun < count) {
      const position = begun * partBytes
      begun += 1
      const PartNumber = begun
      const bytes = Math.min(partBytes, size - position)
      parts[PartNumber - 1] = {
        PartNumber,
        ETag: await sendPart({ ...upload, PartNumber, position, bytes }, signal),
      }
    }
  }
  const stopping = (error: unknown): never => {
    failed.abort(error)
    throw error
  }
  const senders = Array.from({ length: Math.min(PARTS_AT_ONCE, count) }, () => sendSome().catch(stopping))
  // The file stays open until no sender reads it.
  await Promise.allSettled(senders)
  await Promise.all(senders)
  return parts
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

const abandon = async ({ connection: { client } }: Put, upload: Upload): Promise<void> => {
  const request = client.send(new AbortMultipartUploadCommand(upload), {
    abortSignal: AbortSignal.timeout(ABANDON_MS_MAX),
  })
  // It may be gone already, and the store's life-cycle rule removes what stays.
  await request.catch(() => undefined)
}
