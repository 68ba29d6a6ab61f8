/** Reads the settings of the bucket that holds the warehouse. Its credentials come from the environment, not from the settings. */
import type { AzureAccount, StoreAddress } from '../base/network.js'
import { Secret, withoutWords } from '../base/secret.js'
import { isStateFormat } from '../model/publish-formats.js'
import { EXAMPLE_OF_URL, endpointUrl } from './credentials.js'
import type { Environment } from './environment.js'
import { plainProblem } from './proxies.js'
import { good, readAs } from './readers.js'
import { shardDirectory } from './shards.js'
import type { Layers } from './source.js'

/** With `--shard`, the prefix ends with the directory of the shard. */
export interface StorageSettings extends StoreAddress {
  /** The prefix without the directory of the shard. */
  readonly rootPrefix: string
  /** The credentials of the environment, which must never be visible. */
  readonly secrets: readonly Secret[]
}

/**
 * Variables with the address of the server, which the SDK reads as well. The first variable that is set counts if the settings have no
 * endpoint.
 */
export const ENDPOINT_VARIABLES = ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'] as const

/** Null without `storage.url`, if the warehouse is a directory. Adds problems to the layers. */
export const resolveStorage = (layers: Layers, env: Environment): StorageSettings | null => {
  const { shard, storage } = layers.values
  const { url, region, path_style: pathStyle } = storage
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
    const azure = resolveAzure(layers, env)
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

/** The address of the S3 server: from the settings, or else from a variable. */
const resolveEndpoint = (layers: Layers, env: Environment): string | null => {
  const { endpoint } = layers.values.storage
  // The SDK, too, ignores an empty variable.
  const where = ENDPOINT_VARIABLES.find((name) => (env[name] ?? '') !== '') ?? ''
  const read =
    endpoint !== undefined || where === '' ? good(endpoint ?? null) : readAs(endpointUrl, env[where])
  if (!read.ok) layers.problems.push({ where, text: read.problem })
  const address = read.ok ? read.value : null
  if (address !== null) refusePlain(layers, address, where)
  return address
}

/** `where` is the variable with the address; empty if the settings have it. */
const refusePlain = ({ values, problems, refuse }: Layers, address: string, where: string): void => {
  const text = plainProblem('the data', address, null, values)
  if (text === null) return
  if (values.storage.endpoint === undefined) problems.push({ where, text })
  else refuse(['storage', 'endpoint'], text)
}

const CONNECTION_STRING = 'AZURE_STORAGE_CONNECTION_STRING'
const KEY_PROBLEM = 'must have the key of the account as the portal shows it, in base64'
const ACCOUNT = /^[a-z0-9]{3,24}$/
const BASE64 = /^[A-Za-z0-9+/]{4,}={0,2}$/

/**
 * How the storage account of an address `az://…` is reached: by the variables of the Azure CLI. With neither key nor shared access
 * signature, the SDK finds an identity. Null after a problem, which is added to the layers and quotes no value.
 */
const resolveAzure = (layers: Layers, env: Environment): AzureAccount | null => {
  const { endpoint } = layers.values.storage
  const variableOf = (name: string): string => env[name]?.trim() ?? ''
  const connection = variableOf(CONNECTION_STRING)
  const parts = connection === '' ? null : partsOf(connection)
  const account = parts?.AccountName ?? variableOf('AZURE_STORAGE_ACCOUNT')
  const key = parts === null ? variableOf('AZURE_STORAGE_KEY') : (parts.AccountKey ?? '')
  const sas = parts === null ? variableOf('AZURE_STORAGE_SAS_TOKEN') : (parts.SharedAccessSignature ?? '')
  const blobs = (endpoint ?? parts?.BlobEndpoint ?? addressOf(account, parts)).replace(/\/+$/, '')
  const problem = (): string | null => {
    if (parts !== null && blobs === '')
      return 'must be as the portal shows it, such as DefaultEndpointsProtocol=https;AccountName=NAME;AccountKey=KEY'
    if (blobs === '') return 'must name the storage account of az://; or set AZURE_STORAGE_CONNECTION_STRING'
    if (account !== '' && !ACCOUNT.test(account))
      return 'must name a storage account by its 3 to 24 lower-case letters and digits'
    if (!/^https?:/i.test(blobs) || !URL.canParse(blobs))
      return 'must have the address of a server in BlobEndpoint'
    if (/[?#]/.test(blobs) || new URL(blobs).username !== '' || new URL(blobs).password !== '')
      return 'must have no user, password or query in BlobEndpoint; use AccountKey or SharedAccessSignature'
    if (key !== '' && !BASE64.test(key)) return KEY_PROBLEM
    if (key === '' && sas === '' && blobs.startsWith('http:'))
      return 'must come with a key or a SAS: an identity is sent only over https'
    return null
  }
  const text = problem()
  const ofKey = text === KEY_PROBLEM ? 'AZURE_STORAGE_KEY' : 'AZURE_STORAGE_ACCOUNT'
  const where = parts === null ? ofKey : CONNECTION_STRING
  if (text !== null) {
    layers.problems.push({ where, text })
    return null
  }
  refusePlain(layers, blobs, where)
  return {
    account: account === '' ? (new URL(blobs).hostname.split('.')[0] ?? '') : account,
    blobs,
    key: key === '' ? null : new Secret(key),
    sas: sas === '' || key !== '' ? null : new Secret(sas.replace(/^\?/, '')),
  }
}

/** `Name=value;Name=value`. A value may have more equal signs. */
const partsOf = (connection: string): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    connection.split(';').map((part) => {
      const [name = '', ...value] = part.split('=')
      return [name.trim(), value.join('=').trim()]
    }),
  )

const addressOf = (account: string, parts: ReturnType<typeof partsOf> | null): string =>
  account === ''
    ? ''
    : `${parts?.DefaultEndpointsProtocol ?? 'https'}://${account}.blob.${parts?.EndpointSuffix ?? 'core.windows.net'}`

/** Everything that must never be visible, also parts of a wrong value. */
const azureSecrets = (env: Environment): readonly Secret[] => {
  const { AZURE_STORAGE_CONNECTION_STRING: connection = '', AZURE_STORAGE_SAS_TOKEN: sas = '' } = env
  const { AccountKey, SharedAccessSignature = '' } = partsOf(connection)
  const signatures = [sas, SharedAccessSignature].flatMap((text) => [
    text.replace(/^\?/, ''),
    new URLSearchParams(text).get('sig'),
  ])
  return [connection, AccountKey, env.AZURE_STORAGE_KEY, env.AZURE_CLIENT_SECRET, ...signatures].map(
    (text) => new Secret(text?.trim() ?? ''),
  )
}

/** Refuses settings of S3 for an address of Azure, where they have no effect. */
const refuseOfS3 = ({ values: { storage }, refuse }: Layers): void => {
  for (const key of ['region', 'path_style'] as const)
    if (storage[key] !== undefined) refuse(['storage', key], 'is for s3:// only; remove this key')
}

const FORMATS = ['publish', 'formats']

/**
 * Delta logs and the DuckLake catalog need the Parquet files of a bucket. A bucket holds the database in any case, but a directory with
 * only a report could neither be read nor rebuilt.
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

/** Refuses keys of the section without `storage.url`, where they have no effect. */
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
