/** The verbs of the port, as requests to Azure Blob Storage. */
import { createHash, randomUUID } from 'node:crypto'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Socket } from 'node:net'
import {
  AnonymousCredential,
  BlobSASPermissions,
  type BlockBlobClient,
  ContainerClient,
  newPipeline,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import type { AzureAccount } from '../../base/network.js'
import {
  ATTEMPTS_MAX,
  ageMs,
  allAtMost,
  type ClientOptions,
  type Put,
  placeOf,
  type Sender,
  SILENCE_MS_MAX,
  type StoreClient,
  sendRequest,
  storeOf,
  type Written,
} from '../client.js'
import type { ListedObject, ObjectStore } from '../object-store.js'
import { type Part, type PartSender, partBytesOf, partsOf, sendParts } from '../parts.js'
import { codeOf, reasonOf } from './failure.js'

const LIMITS = { partsMax: 50_000, comparedBytes: 1_048_576 }
/** A batch of deletions needs rights of its own in a SAS. */
const DELETIONS_AT_ONCE = 16

/** The SDK's own 4 s would outlast a lease. */
const RETRIES = { retryDelayInMs: 200, maxRetryDelayInMs: 20_000 }

interface AzureConnection extends Sender {
  readonly container: ContainerClient
  readonly sourceOf: (blob: BlockBlobClient) => ReturnType<typeof sourceOf>
}

export const openAzureStore = async (options: ClientOptions, account: AzureAccount): Promise<ObjectStore> => {
  const { bucket, attemptsMax = ATTEMPTS_MAX, silenceMsMax = SILENCE_MS_MAX } = options
  const { blobs, sas } = account
  const agent = silenceLimited(blobs, silenceMsMax)
  const credential = await credentialOf(account)
  const pipeline = newPipeline(credential, {
    retryOptions: { ...RETRIES, maxTries: attemptsMax },
  })
  pipeline.factories.push({
    create: (next) => ({
      // This agent replaces the SDK's agent for the proxy of the environment, which we do not use, as for S3.
      sendRequest: (request) => next.sendRequest(Object.assign(request, { agent })),
    }),
  })
  const query = sas === null ? '' : `?${sas.reveal()}`
  const container = new ContainerClient(`${blobs}/${bucket}${query}`, pipeline)
  const connection: AzureConnection = {
    ...{ ...placeOf('az', options), container, reasonOf },
    sourceOf: (blob) => sourceOf(blob, credential),
  }
  return storeOf({
    ...connection,
    close: () => agent.destroy(),
    ...puts(connection),
    read: (key, signal) => getBlob(connection, key, signal),
    list: (prefix, signal) => listBlobs(connection, prefix, signal),
    delete: async (keys, signal) => {
      await allAtMost(DELETIONS_AT_ONCE, keys, signal, (key, until) => deleteBlob(connection, key, until))
    },
  })
}

const credentialOf = async ({ account, key, sas }: AzureAccount) => {
  if (key !== null) return new StorageSharedKeyCredential(account, key.reveal())
  if (sas !== null) return new AnonymousCredential()
  const { DefaultAzureCredential } = await import('@azure/identity')
  // Instance discovery would check the authority that the environment names at a server in the internet.
  return new DefaultAzureCredential({ disableInstanceDiscovery: true })
}

const SOURCE_MS_MAX = 3_600_000
const STORAGE_SCOPE = 'https://storage.azure.com/.default'

/** The blob as the source of a part. The credential of the request does not count for it, as it does for a copy of a whole blob. */
const sourceOf = async (blob: BlockBlobClient, credential: Awaited<ReturnType<typeof credentialOf>>) => {
  if (credential instanceof AnonymousCredential) return { url: blob.url }
  if (credential instanceof StorageSharedKeyCredential) {
    const expiresOn = new Date(Date.now() + SOURCE_MS_MAX)
    return {
      url: await blob.generateSasUrl({ permissions: BlobSASPermissions.from({ read: true }), expiresOn }),
    }
  }
  const { token: value } = await credential.getToken(STORAGE_SCOPE)
  return { url: blob.url, sourceAuthorization: { scheme: 'Bearer', value } }
}

/**
 * An agent that ends connections without any byte for `silenceMsMax`. The SDK can only limit a whole request, and a slow upload of a large
 * block would reach that limit.
 */
const silenceLimited = (url: string, silenceMsMax: number): HttpAgent => {
  const agent = new (url.startsWith('http:') ? HttpAgent : HttpsAgent)({ keepAlive: true })
  const create = agent.createConnection.bind(agent)
  agent.createConnection = (options, created) => {
    const socket = create(options, created)
    const silent = Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })
    if (socket instanceof Socket) socket.setTimeout(silenceMsMax, () => socket.destroy(silent))
    return socket
  }
  return agent
}

const blobOf = ({ container, root }: AzureConnection, key: string): BlockBlobClient =>
  container.getBlockBlobClient(`${root}${key}`)

const getBlob = async (connection: AzureConnection, key: string, abortSignal: AbortSignal) => {
  const answer = await sendRequest(
    connection,
    `read ${key}`,
    abortSignal,
    // The SDK resumes a body that broke off only after some kinds of failures, so we resume it ourselves.
    () => blobOf(connection, key).download(0, undefined, { abortSignal, maxRetryRequests: 0 }),
    // Any other 404, such as the page of a proxy, must not pass for an empty container.
    (error) => (codeOf(error) === 'BlobNotFound' ? null : undefined),
  )
  if (answer === null) return null
  const { readableStreamBody: body, contentLength: bytes, etag, lastModified, date } = answer
  return { body, bytes, etag, ageMs: ageMs(lastModified, date?.getTime() ?? null) }
}

const puts = (connection: AzureConnection): Pick<StoreClient, 'putBytes' | 'putFile' | 'putCopy'> => ({
  putBytes: (put, bytes) =>
    written(connection, put, (blob, options) => blob.upload(bytes, bytes.length, options)),
  putFile: (put, body, file, size) => {
    const parts = partsOf(size, partBytesOf(size, body, LIMITS))
    return written(connection, put, async (blob, options) => {
      const ids = await sendParts(file, parts, body, blocksOf(connection, put, blob), put.signal)
      return await blob.commitBlockList([...ids], options)
    })
  },
  putCopy: (put, { copyOf }) => {
    // Within one storage account, the credential of the request may also read the source.
    const copy: Write = async (blob, { abortSignal, conditions }) =>
      (
        await blob.beginCopyFromURL(blobOf(connection, copyOf).url, { abortSignal, conditions })
      ).pollUntilDone()
    return written(connection, put, copy, LOST_COPY)
  },
})

/** Sends the blocks of a blob. Each answer is the id of a block. */
const blocksOf = (connection: AzureConnection, { key }: Put, blob: BlockBlobClient): PartSender<string> => {
  const name = randomUUID()
  const idOf = ({ number }: Part) =>
    Buffer.from(`${name}-${String(number).padStart(5, '0')}`).toString('base64')
  return {
    send: async (part, body, abortSignal) => {
      const id = idOf(part)
      const request = () => blob.stageBlock(id, body, body.length, { abortSignal })
      await sendRequest(connection, `write ${key}`, abortSignal, request)
      return id
    },
    copy: (part, body, copyOf, abortSignal) => {
      const id = idOf(part)
      const sourceContentMD5 = createHash('md5').update(body).digest()
      const request = async () => {
        const { url, ...authorization } = await connection.sourceOf(blobOf(connection, copyOf))
        const options = { abortSignal, sourceContentMD5, ...authorization }
        await blob.stageBlockFromURL(id, url, part.position, part.bytes, options)
        return id
      }
      return sendRequest(connection, `write ${key}`, abortSignal, request, (error) =>
        codeOf(error) === 'Md5Mismatch' ? null : undefined,
      )
    },
    // The store itself compares the MD5.
    isProved: () => true,
  }
}

/** Codes for a condition that did not hold. */
const LOST_COPY = ['BlobAlreadyExists', 'ConditionNotMet', 'TargetConditionNotMet']
/** Two more codes: the blob to replace is gone, or another write has dropped the blocks of this write. */
const LOST = [...LOST_COPY, 'BlobNotFound', 'InvalidBlockList']

type Write = (
  blob: BlockBlobClient,
  options: ReturnType<typeof optionsOf>,
) => Promise<{ readonly etag?: string }>

const optionsOf = ({ replaces, type, signal }: Put) => ({
  abortSignal: signal,
  conditions: replaces === null ? { ifNoneMatch: '*' } : { ifMatch: replaces },
  blobHTTPHeaders: type === undefined ? {} : { blobContentType: type },
})

const written = async (
  connection: AzureConnection,
  put: Put,
  write: Write,
  lost = LOST,
): Promise<Written> => {
  const { key, signal } = put
  const request = () => write(blobOf(connection, key), optionsOf(put))
  const answer = await sendRequest(connection, `write ${key}`, signal, request, (error) =>
    lost.includes(codeOf(error)) ? null : undefined,
  )
  return answer === null ? null : answer.etag
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
      // In listings, ETags have no quotes.
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
