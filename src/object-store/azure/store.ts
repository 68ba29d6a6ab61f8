/** The verbs of the port, as requests to Azure Blob Storage. */
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type {
  BlobDownloadResponseParsed,
  BlockBlobClient,
  ModifiedAccessConditions,
} from '@azure/storage-blob'
import pLimit from 'p-limit'
import {
  type ListedObject,
  type ObjectBody,
  type ObjectStore,
  ObjectStoreError,
  type PutOutcome,
} from '../object-store.js'
import { ageMs, type Read, receiveBody, receiveToFile } from '../received.js'
import { failure, sendRequest } from '../send.js'
import { type AzureConnection, type AzureOptions, connect } from './connection.js'
import { codeOf } from './failure.js'

const MIB = 1_048_576
/** A larger file is sent in blocks of this size, or larger ones if they were too many. */
const BLOCK_BYTES_MIN = 8 * MIB
const BLOCKS_MAX = 50_000
const BLOCKS_AT_ONCE = 3
/** A batch of deletions needs rights of its own in a SAS. */
const DELETIONS_AT_ONCE = 16

export const openAzureStore = async (options: AzureOptions): Promise<ObjectStore> => {
  const connection = await connect(options)
  return {
    address: connection.address,
    get: (key, signal) => getBlob(connection, key, signal),
    getToFile: (key, path, signal) =>
      receiveToFile(path, async (read) => (await receive(connection, key, signal, read)) !== null),
    putIfAbsent: (key, body, signal) =>
      putBlob({ connection, key, conditions: { ifNoneMatch: '*' }, signal }, body),
    putIfMatch: (key, body, etag, signal) =>
      putBlob({ connection, key, conditions: { ifMatch: etag }, signal }, body),
    list: (prefix, signal) => listBlobs(connection, prefix, signal),
    delete: async (keys, signal) => {
      const limit = pLimit(DELETIONS_AT_ONCE)
      await Promise.all(keys.map((key) => limit(() => deleteBlob(connection, key, signal))))
    },
    [Symbol.asyncDispose]: async () => connection.close(),
  }
}

const blobOf = ({ container, root }: AzureConnection, key: string): BlockBlobClient =>
  container.getBlockBlobClient(`${root}${key}`)

const getBlob = async (connection: AzureConnection, key: string, signal: AbortSignal) => {
  let body = Buffer.alloc(0)
  const answer = await receive(connection, key, signal, async (chunks) => {
    body = await buffer(chunks)
    return body.length
  })
  if (answer === null) return null
  const { etag, lastModified, date } = answer
  if (etag === undefined) throw new ObjectStoreError(`${connection.address}: ${key} has no ETag`)
  return { body, etag, ageMs: ageMs(lastModified, date?.getTime() ?? null) }
}

const receive = (connection: AzureConnection, key: string, abortSignal: AbortSignal, read: Read) =>
  receiveBody<BlobDownloadResponseParsed>(
    {
      sender: connection,
      key,
      signal: abortSignal,
      request: () =>
        sendRequest(
          connection,
          `read ${key}`,
          abortSignal,
          // The SDK itself continues a body only after some of the ways in which it breaks off.
          () => blobOf(connection, key).download(0, undefined, { abortSignal, maxRetryRequests: 0 }),
          // Any other 404, such as the page of a proxy, must not pass for an empty container.
          (error) => (codeOf(error) === 'BlobNotFound' ? null : undefined),
        ),
      bodyOf: ({ readableStreamBody: body, contentLength: length }) => {
        if (!(body instanceof Readable)) throw new TypeError('the answer has no body')
        return { body, length }
      },
    },
    read,
  )

interface Put {
  readonly connection: AzureConnection
  readonly key: string
  readonly conditions: ModifiedAccessConditions
  readonly signal: AbortSignal
}

const putBlob = async (put: Put, body: ObjectBody): Promise<PutOutcome> => {
  const { connection, key, conditions, signal: abortSignal } = put
  // A browser shows a page only if its type says so.
  const headers = key.endsWith('.html') ? { blobContentType: 'text/html; charset=utf-8' } : {}
  const options = { abortSignal, conditions, blobHTTPHeaders: headers }
  const blob = blobOf(connection, key)
  if (body instanceof Uint8Array) return await written(put, () => blob.upload(body, body.length, options))
  if ('copyOf' in body) {
    const source = blobOf(connection, body.copyOf).url
    // Within one account, the credential of the request reads the source too.
    const copy = async () =>
      (await blob.beginCopyFromURL(source, { abortSignal, conditions })).pollUntilDone()
    return await written(put, copy, LOST_COPY)
  }
  await using file = await open(body.file, 'r').catch((error: unknown) => {
    throw failure(connection, `write ${key}`, error)
  })
  const { size } = await file.stat()
  if (size <= BLOCK_BYTES_MIN) {
    const bytes = await file.readFile()
    const outcome = await written(put, () => blob.upload(bytes, bytes.length, options))
    body.onSent?.(size)
    return outcome
  }
  let sentBytes = 0
  const onProgress = ({ loadedBytes }: { readonly loadedBytes: number }) => {
    body.onSent?.(loadedBytes - sentBytes)
    sentBytes = loadedBytes
  }
  const blocks = {
    blockSize: Math.max(BLOCK_BYTES_MIN, Math.ceil(size / BLOCKS_MAX)),
    maxSingleShotSize: 0,
    concurrency: BLOCKS_AT_ONCE,
  }
  return await written(put, () => blob.uploadFile(body.file, { ...options, ...blocks, onProgress }))
}

/** The condition did not hold. */
const LOST_COPY = ['BlobAlreadyExists', 'ConditionNotMet', 'TargetConditionNotMet']
/** Also: the blob to replace is gone, or another write has dropped the blocks of this one. */
const LOST = [...LOST_COPY, 'BlobNotFound', 'InvalidBlockList']

const written = async (
  { connection, key, signal }: Put,
  request: () => Promise<{ readonly etag?: string }>,
  lost = LOST,
): Promise<PutOutcome> => {
  const answer = await sendRequest(connection, `write ${key}`, signal, request, (error) =>
    lost.includes(codeOf(error)) ? ('lost' as const) : undefined,
  )
  if (answer === 'lost') return { kind: 'lost' }
  if (answer.etag === undefined)
    throw new ObjectStoreError(`${connection.address}: the store gave no ETag for ${key}`)
  return { kind: 'written', etag: answer.etag }
}

async function* listBlobs(
  connection: AzureConnection,
  prefix: string,
  abortSignal: AbortSignal,
): AsyncIterable<ListedObject> {
  const { container, root } = connection
  const pages = container.listBlobsFlat({ prefix: `${root}${prefix}`, abortSignal }).byPage()
  for (;;) {
    const page = await sendRequest(connection, `list ${prefix}`, abortSignal, () => pages.next())
    if (page.done === true) return
    const { segment, date } = page.value
    for (const { name, properties } of segment.blobItems) {
      const { contentLength: bytes, lastModified } = properties
      if (bytes === undefined) continue
      // Only listings leave the quotes of an ETag out.
      const etag = `"${properties.etag.replaceAll('"', '')}"`
      yield { key: name.slice(root.length), bytes, etag, ageMs: ageMs(lastModified, date?.getTime() ?? null) }
    }
  }
}

const deleteBlob = (connection: AzureConnection, key: string, abortSignal: AbortSignal) =>
  sendRequest(
    connection,
    `delete ${key}`,
    abortSignal,
    async () => void (await blobOf(connection, key).deleteIfExists({ abortSignal })),
  )
