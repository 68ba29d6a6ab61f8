/** Starts object stores that are not ours. `integration/readers/install.mjs` installs them below `.readers`. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { Secret } from '../../../src/base/secret.js'
import type { ObjectStore } from '../../../src/object-store/object-store.js'
import { openStore } from '../../../src/object-store/open.js'
import type { Env } from '../command/command.js'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { freePort, type Program, startProgram } from '../servers/server.js'
import { AZURITE, openAzure, startAzurite } from './azurite.js'
import { STORAGE_CREDENTIALS, withEnvironment } from './credentials.js'

/** A new bucket of a store. */
interface RealBucket {
  /** Such as `s3://research/fieldwork`. */
  readonly url: string
  /** Variables of the command that uses it, through another address of the server if one is given. */
  env(endpoint?: string): Env
  /** `secret` in place of the right one. */
  open(finished: Finished, secret?: string): Promise<ObjectStore>
  /** The same in a bucket that does not exist. */
  openMissing(finished: Finished): Promise<ObjectStore>
}

export interface RunningStore extends Program {
  /** Where the command reaches the server, such as `http://127.0.0.1:9000`. */
  readonly endpoint: string
  createBucket(): Promise<RealBucket>
}

interface Started {
  readonly port: number
  readonly directory: string
}

const { AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: SECRET } = STORAGE_CREDENTIALS
const INSTALLED = fileURLToPath(new URL('../../../.readers/', import.meta.url))

interface Command {
  /** Below `.readers`: there is no such file before it is installed. */
  readonly file: string
  readonly program?: string
  readonly args: (started: Started) => readonly string[] | Promise<readonly string[]>
  readonly env?: Env
  /** The tests that it fails. */
  readonly lacks?: readonly string[]
  /** What `check` says of it, by default that conditional writes hold. Otherwise nothing else is tried. */
  readonly refusal?: string
}

const LARGE = 'a large file arrives whole, and is got into a new file only'
const PARTLY = 'of a file of which another object has much, only the rest is sent'
const CREDENTIALS = 'a wrong secret and a missing bucket are named'
const LASTING = 'what was written outlives a SIGKILL of the server'

const RACY = 'the store has no reliable conditional writes: of 8 writes at once with If-'

const JAVA = ['-Xmx512m', '-jar']

const COMMANDS: Readonly<Record<string, Command>> = {
  versitygw: {
    file: 'versitygw/versitygw',
    args: ({ port, directory }) => ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', directory],
    env: { ROOT_ACCESS_KEY: ID, ROOT_SECRET_KEY: SECRET },
  },
  minio: {
    file: 'minio/minio',
    args: ({ port, directory }) => ['server', '--quiet', '--address', `127.0.0.1:${port}`, directory],
    env: { MINIO_ROOT_USER: ID, MINIO_ROOT_PASSWORD: SECRET },
  },
  rclone: {
    file: 'rclone/rclone',
    args: ({ port, directory }) => [
      ...['serve', 's3', directory, '--addr', `127.0.0.1:${port}`, '--auth-key', `${ID},${SECRET}`],
      ...['--vfs-cache-mode', 'writes', '--cache-dir', `${directory}-cache`],
    ],
  },
  seaweedfs: {
    file: 'seaweedfs/weed',
    args: async ({ port, directory }) => {
      const names = ['master.port', 'volume.port', 'filer.port'].flatMap((name) => [name, `${name}.grpc`])
      const ports = [...names, 's3.port.grpc'].map(async (name) => `-${name}=${await freePort()}`)
      return [
        ...['server', `-dir=${directory}`, '-ip=127.0.0.1', '-ip.bind=127.0.0.1', '-master.telemetry=false'],
        ...[
          '-volume.max=1000',
          '-filer',
          '-s3',
          `-s3.port=${port}`,
          '-s3.port.iceberg=0',
          '-s3.port.lance=0',
        ],
        ...(await Promise.all(ports)),
      ]
    },
    env: STORAGE_CREDENTIALS,
  },
  gofakes3: {
    file: 'gofakes3/gofakes3',
    args: ({ port, directory }) => [
      ...['-host', `127.0.0.1:${port}`, '-backend', 'bolt', '-bolt.db', `${directory}/objects.bolt`],
    ],
    lacks: [LARGE, PARTLY, CREDENTIALS],
  },
  moto: {
    file: 'moto/moto',
    program: process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3',
    args: ({ port }) => ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)],
    env: { PYTHONPATH: `${INSTALLED}moto` },
    lacks: [LARGE, CREDENTIALS, LASTING],
  },
  s3mock: {
    file: 's3mock/jars/s3mock-5.2.0-exec.jar',
    program: 'java',
    args: ({ port, directory }) => [
      ...[...JAVA, `${INSTALLED}s3mock/jars/s3mock-5.2.0-exec.jar`],
      ...[`--http.port=${port}`, '--server.port=0', `--com.adobe.testing.s3mock.store.root=${directory}`],
    ],
    refusal: RACY,
  },
  s3proxy: {
    file: 's3proxy/jars/s3proxy-4.1.0-jar-with-dependencies.jar',
    program: 'java',
    args: async ({ port, directory }) => {
      const properties = {
        's3proxy.endpoint': `http://127.0.0.1:${port}`,
        's3proxy.authorization': 'aws-v2-or-v4',
        's3proxy.identity': ID,
        's3proxy.credential': SECRET,
        'jclouds.provider': 'filesystem-nio2',
        'jclouds.identity': 'none',
        'jclouds.credential': 'none',
        'jclouds.filesystem.basedir': directory,
      }
      const file = `${directory}.properties`
      await writeFile(
        file,
        Object.entries(properties)
          .map((pair) => pair.join('='))
          .join('\n'),
      )
      return [
        ...[...JAVA, `${INSTALLED}s3proxy/jars/s3proxy-4.1.0-jar-with-dependencies.jar`],
        ...['--properties', file],
      ]
    },
    refusal: RACY,
  },
}

const startS3 = async (
  finished: Finished,
  { file, program = `${INSTALLED}${file}`, args, env }: Command,
): Promise<RunningStore> => {
  const directory = join(await temporaryDirectory(finished), 'data')
  await mkdir(directory)
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  // Any answer, such as 403, comes from a server that is up.
  const isUp = () => fetch(endpoint)
  const started = await startProgram(finished, program, await args({ port, directory }), isUp, {
    PATH: process.env.PATH,
    HOME: directory,
    ...env,
  })
  withEnvironment(finished, STORAGE_CREDENTIALS)
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true })
  finished(() => client.destroy())
  const open = async (onFinished: Finished, bucket: string, secret: string = SECRET) => {
    withEnvironment(onFinished, { ...STORAGE_CREDENTIALS, AWS_SECRET_ACCESS_KEY: secret })
    const options = { endpoint, region: null, pathStyle: true, azure: null, attemptsMax: 3 }
    const store = await openStore({ ...options, bucket, prefix: 'field/work' })
    onFinished(async () => store[Symbol.asyncDispose]())
    return store
  }
  const createBucket = async (): Promise<RealBucket> => {
    const bucket = `research-${randomUUID()}`
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    return {
      url: `s3://${bucket}/fieldwork`,
      env: (address = endpoint) => ({ ...STORAGE_CREDENTIALS, AWS_ENDPOINT_URL_S3: address }),
      open: (onFinished, secret) => open(onFinished, bucket, secret),
      openMissing: (onFinished) => open(onFinished, `missing-${randomUUID()}`),
    }
  }
  return { ...started, endpoint, createBucket }
}

const startAzure = async (finished: Finished): Promise<RunningStore> => {
  const azurite = await startAzurite(finished)
  const endpoint = new URL(azurite.blobs).origin
  const createBucket = async (): Promise<RealBucket> => {
    const bucket = await azurite.createContainer()
    const env = (address = endpoint) => ({
      AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString.replace(endpoint, address),
    })
    const open: RealBucket['open'] = (onFinished, secret) => {
      const key = secret === undefined ? azurite.key : new Secret(Buffer.from(secret).toString('base64'))
      return openAzure(onFinished, { ...azurite, key }, { bucket })
    }
    const openMissing: RealBucket['openMissing'] = (onFinished) =>
      openAzure(onFinished, azurite, { bucket: `missing-${randomUUID()}` })
    return { url: `az://${bucket}/fieldwork`, env, open, openMissing }
  }
  return { ...azurite, endpoint, createBucket }
}

export const STORES = [...Object.keys(COMMANDS), 'azurite']

/** What is known of a store: the tests that it fails, and what `check` says. */
export const knownOf = (name: string) => {
  const { lacks, refusal = null } = COMMANDS[name] ?? { lacks: [LASTING, PARTLY] }
  return { lacks: lacks ?? [], refusal }
}

export const isInstalled = (name: string): boolean => {
  const command = COMMANDS[name]
  return command === undefined ? AZURITE : existsSync(`${INSTALLED}${command.file}`)
}

export const startStore = (finished: Finished, name: string): Promise<RunningStore> => {
  const command = COMMANDS[name]
  return command === undefined ? startAzure(finished) : startS3(finished, command)
}
