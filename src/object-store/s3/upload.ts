/**
 * Writes an object under a condition: one request for a small body, a multipart upload for a large file or a copy. Aborting stops the parts
 * that are being sent.
 */
import { createHash } from 'node:crypto'
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
import type { CopiedBody, FileBody } from '../object-store.js'
import { type Part, type PartSender, partBytesOf, partsOf, sendParts } from '../parts.js'
import { type S3Connection, send } from './connection.js'
import { nameOf, statusOf } from './failure.js'

/** S3 allows no smaller part but the last. */
const LIMITS = { partsMax: 10_000, comparedBytes: 5 * 1_048_576 }
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

/** Makes an upload of several parts. The condition is checked when all parts have arrived. `sendAll` returns what the store says of each. */
const putParts = async (
  connection: S3Connection,
  put: Put,
  sendAll: (upload: Upload) => Promise<readonly SentPart[]>,
  sums: Partial<S3Connection['sums']> = {},
): Promise<Written> => {
  const { key, signal } = put
  const creation = new CreateMultipartUploadCommand({ ...objectOf(connection, put), ...sums })
  const { UploadId } = await send(connection, `write ${key}`, signal, creation)
  const upload = { ...targetOf(connection, put), UploadId }
  try {
    const sent = await sendAll(upload)
    const Parts = sent.map(({ ETag, ChecksumSHA256 }, index) => ({
      PartNumber: index + 1,
      ETag,
      ChecksumSHA256,
    }))
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

interface SentPart {
  readonly ETag?: string | undefined
  readonly ChecksumSHA256?: string | undefined
}

/** Most stores take the MD5 of a part as its ETag. */
const isProved = ({ ETag, ChecksumSHA256 }: SentPart, body: Buffer): boolean =>
  ChecksumSHA256 === undefined
    ? ETag?.replaceAll('"', '') === createHash('md5').update(body).digest('hex')
    : ChecksumSHA256 === createHash('sha256').update(body).digest('base64')

export const putFile = (
  connection: S3Connection,
  put: Put,
  body: FileBody,
  file: FileHandle,
  size: number,
): Promise<Written> => {
  const parts = partsOf(size, partBytesOf(size, body, LIMITS))
  const sums = body.base === undefined ? {} : connection.sums
  const senderTo = (upload: Upload): PartSender<SentPart> => ({
    send: ({ number: PartNumber }, Body, signal) => {
      const command = new UploadPartCommand({ ...upload, ...sums, PartNumber, Body })
      return send(connection, `write ${put.key}`, signal, command)
    },
    copy: (part, _, copyOf, signal) => copyPart(connection, put, upload, part, copyOf, signal),
    isProved,
  })
  const sendAll = (upload: Upload) => sendParts(file, parts, body, senderTo(upload), put.signal)
  return putParts(connection, put, sendAll, sums)
}

/** CopyObject is not used: it ends at 5 GiB, needs more permissions, and few servers check its condition. */
export const putCopy = (connection: S3Connection, put: Put, { copyOf, bytes: size }: CopiedBody) => {
  const parts = partsOf(size, Math.max(PART_BYTES_MIN, Math.ceil(size / COPIED_PARTS_MAX)))
  return putParts(connection, put, (upload) =>
    allAtMost(PARTS_AT_ONCE, parts, put.signal, (part, signal) =>
      copyPart(connection, put, upload, part, copyOf, signal),
    ),
  )
}

const copyPart = async (
  connection: S3Connection,
  { key }: Put,
  upload: Upload,
  { number: PartNumber, position, bytes }: Part,
  copyOf: string,
  signal: AbortSignal,
): Promise<SentPart> => {
  const { bucket, root } = connection
  const CopySource = `${bucket}/${root}${copyOf}`.split('/').map(encodeURIComponent).join('/')
  const CopySourceRange = `bytes=${position}-${position + bytes - 1}`
  const command = new UploadPartCopyCommand({ ...upload, PartNumber, CopySource, CopySourceRange })
  return (await send(connection, `write ${key}`, signal, command)).CopyPartResult ?? {}
}

const abandon = async ({ client }: S3Connection, upload: Upload): Promise<void> => {
  const request = client.send(new AbortMultipartUploadCommand(upload), {
    abortSignal: AbortSignal.timeout(ABANDON_MS_MAX),
  })
  // The upload may be gone already, and the store's life-cycle rule removes parts that stay.
  await request.catch(() => undefined)
}
