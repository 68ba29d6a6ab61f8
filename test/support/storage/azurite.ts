/** Starts Azurite, Microsoft's emulator of Azure Storage. `integration/readers/install.mjs` installs it below `.readers`. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { BlobServiceClient } from '@azure/storage-blob'
import type { AzureAccount } from '../../../src/base/network.js'
import { Secret } from '../../../src/base/secret.js'
import { openStore } from '../../../src/object-store/open.js'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { freePort, type Program, startProgram } from '../servers/server.js'

const INSTALLED = fileURLToPath(new URL('../../../.readers/azurite/', import.meta.url))
const COMMAND = `${INSTALLED}node_modules/azurite/dist/src/blob/main.js`

export const AZURITE = existsSync(COMMAND)

/** The account and the key that every Azurite has. They are in its documentation. */
const ACCOUNT = 'devstoreaccount1'
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

export interface Azurite extends Program, AzureAccount {
  readonly connectionString: string
  /** A new container. Returns its name. */
  createContainer(name?: string): Promise<string>
}

/** With files of key and certificate it takes https only, and tokens of an identity as well, whose signature it does not check. */
export const startAzurite = async (
  finished: Finished,
  tls?: { readonly key: string; readonly cert: string },
): Promise<Azurite> => {
  const port = await freePort()
  const blobs = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/${ACCOUNT}`
  const location = await temporaryDirectory(finished)
  const args = [
    ...[COMMAND, '--blobPort', String(port), '--location', location, '--silent'],
    ...['--disableTelemetry', '--skipApiVersionCheck'],
    ...(tls === undefined ? [] : ['--oauth', 'basic', '--key', tls.key, '--cert', tls.cert]),
  ]
  const isUp = async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket.destroy()
  }
  const program = await startProgram(finished, process.execPath, args, isUp)
  const connectionString = `DefaultEndpointsProtocol=${new URL(blobs).protocol.slice(0, -1)};AccountName=${ACCOUNT};AccountKey=${KEY};BlobEndpoint=${blobs};`
  const service = BlobServiceClient.fromConnectionString(connectionString)
  const createContainer = async (bucket = `research-${randomUUID()}`) => {
    await service.createContainer(bucket)
    return bucket
  }
  return {
    ...program,
    account: ACCOUNT,
    blobs,
    key: new Secret(KEY),
    sas: null,
    connectionString,
    createContainer,
  }
}

/** A store below a prefix of a container. */
export const openAzure = async (
  finished: Finished,
  azure: AzureAccount,
  options: { readonly bucket: string; readonly attemptsMax?: number; readonly silenceMsMax?: number },
) => {
  const rest = { prefix: 'field/work', endpoint: null, region: null, pathStyle: false }
  const store = await openStore({ attemptsMax: 3, ...rest, ...options, azure })
  finished(async () => store[Symbol.asyncDispose]())
  return store
}
