/** The SDK's client of one container, with its credential and its time limits. */
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Socket } from 'node:net'
import {
  AnonymousCredential,
  ContainerClient,
  newPipeline,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import type { AzureAccount } from '../../base/network.js'
import type { Sender } from '../client.js'
import { reasonOf } from './failure.js'

export interface AzureOptions extends AzureAccount {
  /** The container. */
  readonly bucket: string
  /** Without a slash at either end; empty for the whole container. */
  readonly prefix: string
  /** How often a request is sent before it has failed. */
  readonly attemptsMax?: number
  /** A connection without any byte for this long has failed. */
  readonly silenceMsMax?: number
}

export interface AzureConnection extends Sender {
  readonly container: ContainerClient
  /** The prefix with its slash; empty without a prefix. */
  readonly root: string
  close(): void
}

const ATTEMPTS_MAX = 5
const SILENCE_MS_MAX = 30_000
/** The SDK's own 4 s would outlast a lease. */
const RETRIES = { retryDelayInMs: 200, maxRetryDelayInMs: 20_000 }

export const connect = async (options: AzureOptions): Promise<AzureConnection> => {
  const { bucket, prefix, blobs, sas, attemptsMax = ATTEMPTS_MAX } = options
  const agent = silenceLimited(blobs, options.silenceMsMax ?? SILENCE_MS_MAX)
  const pipeline = newPipeline(await credentialOf(options), {
    retryOptions: { ...RETRIES, maxTries: attemptsMax },
  })
  pipeline.factories.push({
    create: (next) => ({
      // In place of an agent for the proxy of the environment: as for S3, that is not used.
      sendRequest: (request) => next.sendRequest(Object.assign(request, { agent })),
    }),
  })
  const query = sas === null ? '' : `?${sas.reveal()}`
  return {
    container: new ContainerClient(`${blobs}/${bucket}${query}`, pipeline),
    address: prefix === '' ? `az://${bucket}` : `az://${bucket}/${prefix}`,
    root: prefix === '' ? '' : `${prefix}/`,
    reasonOf,
    close: () => agent.destroy(),
  }
}

const credentialOf = async ({ account, key, sas }: AzureAccount) => {
  if (key !== null) return new StorageSharedKeyCredential(account, key.reveal())
  if (sas !== null) return new AnonymousCredential()
  const { DefaultAzureCredential } = await import('@azure/identity')
  // It would check the authority, which the environment names, at one in the internet.
  return new DefaultAzureCredential({ disableInstanceDiscovery: true })
}

/** The SDK has a limit for a whole request only, which a slow upload of a large block would reach. */
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
