/**
 * Reads how the storage account of an address `az://…` is reached: from the variables of the Azure CLI, because they are credentials. With
 * neither key nor shared access signature, the SDK finds an identity. No problem quotes a value.
 */
import type { AzureAccount } from '../base/network.js'
import { Secret } from '../base/secret.js'
import type { Environment } from './environment.js'
import { plainProblem } from './proxies.js'
import type { Layers } from './source.js'

const CONNECTION_STRING = 'AZURE_STORAGE_CONNECTION_STRING'
const BASE64 = /^[A-Za-z0-9+/]{4,}={0,2}$/

/** Null after a problem, which is added to the layers. `endpoint` is that of the settings. */
export const resolveAzure = (
  layers: Layers,
  env: Environment,
  endpoint: string | undefined,
): AzureAccount | null => {
  const given = (name: string): string => env[name]?.trim() ?? ''
  const connection = given(CONNECTION_STRING)
  const parts = connection === '' ? null : partsOf(connection)
  const account = parts?.AccountName ?? given('AZURE_STORAGE_ACCOUNT')
  const key = parts === null ? given('AZURE_STORAGE_KEY') : (parts.AccountKey ?? '')
  const sas = parts === null ? given('AZURE_STORAGE_SAS_TOKEN') : (parts.SharedAccessSignature ?? '')
  const blobs = (endpoint ?? parts?.BlobEndpoint ?? addressOf(account, parts)).replace(/\/+$/, '')
  const problem = (): string | null => {
    if (parts !== null && blobs === '')
      return 'must be as the portal shows it, such as DefaultEndpointsProtocol=https;AccountName=NAME;AccountKey=KEY'
    if (blobs === '') return 'must name the storage account of az://; or set AZURE_STORAGE_CONNECTION_STRING'
    if (!URL.canParse(blobs)) return 'must have the address of a server in BlobEndpoint'
    if (key !== '' && !BASE64.test(key))
      return 'must have the key of the account as the portal shows it, in base64'
    if (key === '' && sas === '' && blobs.startsWith('http:'))
      return 'must come with a key or a SAS: an identity is sent only over https'
    return plainProblem('the data', blobs, null, layers.values)
  }
  const text = problem()
  const where =
    parts !== null ? CONNECTION_STRING : key !== '' ? 'AZURE_STORAGE_KEY' : 'AZURE_STORAGE_ACCOUNT'
  if (text !== null) {
    layers.problems.push({ where, text })
    return null
  }
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

/** Everything that must never be visible, also of a value that is wrong. */
export const azureSecrets = (env: Environment): readonly Secret[] => {
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
