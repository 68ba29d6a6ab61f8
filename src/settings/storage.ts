/** Reads the settings of the bucket that holds the warehouse. Its credentials are no settings: they are in the environment. */
import type { AzureAccount } from '../base/network.js'
import { Secret, withoutWords } from '../base/secret.js'
import { isStateFormat } from '../model/publish-formats.js'
import { azureSecrets, resolveAzure } from './azure.js'
import { EXAMPLE_OF_URL, readEndpoint } from './credentials.js'
import type { Environment } from './environment.js'
import { plainProblem } from './proxies.js'
import { good } from './readers.js'
import { shardDirectory } from './shards.js'
import type { Layers } from './source.js'

export interface StorageSettings {
  readonly bucket: string
  /** What all shards have in common, without a slash at either end; empty for the whole bucket. */
  readonly rootPrefix: string
  /** Begins every key of this process: `rootPrefix`, with `--shard` followed by the directory of the shard. */
  readonly prefix: string
  /** Origin of the server, such as `https://minio.internal:9000`; null for AWS. */
  readonly endpoint: string | null
  /** Null for the region that the SDK finds. */
  readonly region: string | null
  /** Whether the bucket is in the path of the address and not in its host. */
  readonly pathStyle: boolean
  /** The storage account of an address `az://`; null for S3. `endpoint` is then the address of its blobs. */
  readonly azure: AzureAccount | null
  /** The credentials of the environment, which must never be visible. */
  readonly secrets: readonly Secret[]
}

/** Addresses of the server. The SDK reads them as well. The first that is set counts where the settings have no endpoint. */
export const ENDPOINT_VARIABLES = ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'] as const

/** Null without `storage.url`: then the warehouse is a directory. Adds the problems that it finds to the layers. */
export const resolveStorage = (layers: Layers, env: Environment): StorageSettings | null => {
  const { shard, storage } = layers.values
  const { url, endpoint, region, path_style: pathStyle } = storage
  if (url === undefined) refuseWithoutUrl(layers)
  refusePublish(layers)
  if (url === undefined) return null
  const where = {
    bucket: url.bucket,
    rootPrefix: url.prefix,
    prefix: joined(url.prefix, shard === null ? '' : shardDirectory(shard)),
  }
  if (url.isAzure) {
    refuseOfS3(layers)
    const azure = resolveAzure(layers, env, endpoint)
    const secrets = withoutWords(azureSecrets(env))
    return { ...where, endpoint: azure?.blobs ?? null, region: null, pathStyle: false, azure, secrets }
  }
  const address = resolveEndpoint(layers, env)
  const credentials = [env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN]
  return {
    ...where,
    endpoint: address,
    region: region ?? null,
    pathStyle: pathStyle ?? address !== null,
    azure: null,
    secrets: withoutWords(credentials.map((text = '') => new Secret(text))),
  }
}

/** The server of S3, of the settings or else of a variable. */
const resolveEndpoint = (layers: Layers, env: Environment): string | null => {
  const { endpoint } = layers.values.storage
  // The SDK, too, ignores an empty variable.
  const where = ENDPOINT_VARIABLES.find((name) => (env[name] ?? '') !== '') ?? ''
  const found = endpoint !== undefined || where === '' ? good(endpoint ?? null) : readEndpoint(env[where])
  const refuse = (text: string): void => {
    if (endpoint === undefined) layers.problems.push({ where, text })
    else layers.refuse(['storage', 'endpoint'], text)
  }
  if (!found.ok) refuse(found.problem)
  const address = found.ok ? found.value : null
  const plain = address === null ? null : plainProblem('the data', address, null, layers.values)
  if (plain !== null) refuse(plain)
  return address
}

/** Without a meaning they would be a mistake. */
const refuseOfS3 = ({ values: { storage }, refuse }: Layers): void => {
  for (const key of ['region', 'path_style'] as const)
    if (storage[key] !== undefined) refuse(['storage', key], 'is for s3:// only; remove this key')
}

const FORMATS = ['publish', 'formats']

/**
 * Delta logs and the DuckLake catalog are beside the Parquet files of a bucket. A bucket holds the database in any case, but a directory with nothing but a
 * report could not be read, nor rebuilt.
 */
const refusePublish = ({ values: { publish, storage }, isBroken, refuse }: Layers): void => {
  const isDirectory = storage.url === undefined
  if (isBroken(FORMATS) || isBroken(['storage', 'url'])) return
  const lake = publish.formats.find((format) => format === 'delta' || format === 'ducklake')
  if (lake !== undefined && isDirectory)
    refuse(FORMATS, `can have ${lake} only in a bucket; set storage.url, or remove ${lake}`)
  else if (lake !== undefined && !publish.formats.includes('parquet'))
    refuse(FORMATS, `needs parquet beside ${lake}, whose tables are the Parquet files`)
  else if (isDirectory && !publish.formats.some(isStateFormat))
    refuse(FORMATS, 'needs duckdb or parquet beside report, which is a page about them')
}

/** Keys of the section without its url have no effect, so they are a mistake. */
const refuseWithoutUrl = ({ values, isBroken, refuse }: Layers): void => {
  if (isBroken(['storage', 'url'])) return
  for (const [key, value] of Object.entries(values.storage))
    if (value !== undefined)
      refuse(['storage', key], `needs storage.url; set it, such as ${EXAMPLE_OF_URL}, or remove this key`)
}

const joined = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('/')

/** For messages, such as `s3://research/fieldwork`. */
export const storageAddress = ({
  azure,
  bucket,
  prefix,
}: Pick<StorageSettings, 'azure' | 'bucket' | 'prefix'>): string =>
  `${azure === null ? 's3' : 'az'}://${joined(bucket, prefix)}`
