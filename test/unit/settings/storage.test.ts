/** The bucket of the settings: its defaults, the variables, the shard's prefix, its secrets, and a line for every wrong value. */
import { describe, expect, test } from 'vitest'
import { createRedactor } from '../../../src/base/secret.js'
import { secretsOf } from '../../../src/settings/settings.js'
import { ACCOUNT, ACCOUNT_ENV, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const storageOf = async (yaml: string, env: Readonly<Record<string, string>> = {}, flags = {}) =>
  (await load({ yaml: `${ACCOUNT}${yaml}`, env, flags })).storage

const problems = async (yaml: string, env: Readonly<Record<string, string>> = {}) =>
  await problemsOf({ yaml: `${ACCOUNT}${yaml}`, env })

const urlProblem = async (url: string): Promise<string> => {
  const found = await problems(`storage:\n  url: ${JSON.stringify(url)}\n`)
  expect(found).toHaveLength(1)
  return found[0] ?? ''
}

test.each(['delta', 'ducklake'])('%s needs a bucket and parquet beside it', async (format) => {
  const bucket = 'storage:\n  url: s3://research\n'
  const both = `publish: [parquet, ${format}]\n`
  expect((await load({ yaml: `${ACCOUNT}${bucket}${both}` })).publish.formats).toEqual(['parquet', format])
  expect(await problems(`${bucket}publish: [duckdb, ${format}]\n`)).toEqual([
    expect.stringContaining(`publish needs parquet beside ${format}, whose tables are the Parquet files`),
  ])
  expect(await problems(both)).toEqual([
    expect.stringContaining(`can have ${format} only in a bucket; set storage.url, or remove ${format}`),
  ])
})

describe('a bucket', () => {
  test('needs only its address', async () => {
    expect(await storageOf('storage:\n  url: s3://research/field/work\n')).toEqual({
      bucket: 'research',
      rootPrefix: 'field/work',
      prefix: 'field/work',
      endpoint: null,
      region: null,
      pathStyle: false,
      azure: null,
      secrets: [],
    })
  })

  test.each([
    ['s3://research', ''],
    ['s3://research/', ''],
    ['s3://research/a//', 'a'],
    ['S3://research/a b/ü%1=x', 'a b/ü%1=x'],
  ])('%s has the prefix "%s"', async (url, prefix) => {
    expect(await storageOf(`storage:\n  url: ${url}\n`)).toMatchObject({ bucket: 'research', prefix })
  })

  test('is absent without storage, or with an empty section', async () => {
    expect(await storageOf('')).toBeNull()
    expect(await storageOf('storage:\n', { AWS_ENDPOINT_URL_S3: 'not read' })).toBeNull()
  })

  test('comes from the environment, which overrides the file', async () => {
    const env = { FIELDWORK_SYNC_STORAGE_URL: 's3://other/env' }
    expect((await load({ env: { ...ACCOUNT_ENV, ...env } })).storage).toMatchObject({
      bucket: 'other',
      prefix: 'env',
    })
    const yaml = 'storage:\n  url: s3://research/file\n  region: eu-west-1\n'
    expect(await storageOf(yaml, env)).toMatchObject({ bucket: 'other', prefix: 'env', region: 'eu-west-1' })
  })

  test('has the directory of the shard at the end of its prefix', async () => {
    const shard = { shard: '1/4' }
    expect(await storageOf('storage:\n  url: s3://research/a\n', {}, shard)).toMatchObject({
      rootPrefix: 'a',
      prefix: 'a/shard=1-of-4',
    })
    expect(await storageOf('storage:\n  url: s3://research\n', {}, shard)).toMatchObject({
      rootPrefix: '',
      prefix: 'shard=1-of-4',
    })
  })

  test('is read by commands without accounts, and not by commands without a warehouse', async () => {
    const env = { FIELDWORK_SYNC_STORAGE_URL: 's3://research' }
    expect((await load({ env, requireAccounts: false })).storage).toMatchObject({ bucket: 'research' })
    expect((await load({ env: { ...ACCOUNT_ENV, ...env }, oneAccount: true })).storage).toBeNull()
  })
})

describe('an endpoint', () => {
  const yaml = (rest: string) => `storage:\n  url: s3://research\n${rest}`

  test('is an origin, and makes the path style the default', async () => {
    const endpoint = '  endpoint: https://minio.internal:9000/\n'
    const expected = { endpoint: 'https://minio.internal:9000', pathStyle: true }
    expect(await storageOf(yaml(endpoint))).toMatchObject(expected)
    expect(await storageOf(yaml(`${endpoint}  path_style: false\n`))).toMatchObject({
      ...expected,
      pathStyle: false,
    })
    expect(await storageOf(yaml('  path_style: true\n'))).toMatchObject({ endpoint: null, pathStyle: true })
  })

  test('comes from the variables of the SDK where the settings have none', async () => {
    const env = { AWS_ENDPOINT_URL_S3: 'https://s3.example', AWS_ENDPOINT_URL: 'https://all.example' }
    expect(await storageOf(yaml(''), env)).toMatchObject({ endpoint: 'https://s3.example', pathStyle: true })
    expect(await storageOf(yaml(''), { ...env, AWS_ENDPOINT_URL_S3: '' })).toMatchObject({
      endpoint: 'https://all.example',
    })
    expect(await storageOf(yaml('  endpoint: https://file.example\n'), env)).toMatchObject({
      endpoint: 'https://file.example',
    })
  })

  test('may be plain http on this host only, unless allow_insecure_http is set', async () => {
    expect(await storageOf(yaml('  endpoint: http://127.0.0.1:9000\n'))).toMatchObject({
      endpoint: 'http://127.0.0.1:9000',
    })
    const text =
      'would send the data over plain http to another host; use https, or set allow_insecure_http: true in the settings file'
    const plain = yaml('  endpoint: http://minio:9000\n')
    expect(await problems(plain)).toEqual([`settings.yaml:8: storage.endpoint ${text}`])
    expect(await problems(yaml(''), { AWS_ENDPOINT_URL_S3: 'http://minio:9000' })).toEqual([
      `AWS_ENDPOINT_URL_S3: ${text}`,
    ])
    expect(await problems(`${plain}allow_insecure_http: true\n`)).toEqual([])
  })

  test.each([
    ['nonsense', 'must be the URL of a server, such as https://minio.internal:9000'],
    ['ftp://host', 'must begin with https:// or http://'],
    ['https://key:secret-word@host', 'must not contain a user or password'],
    ['https://host/research', 'must end after the host and port, such as https://minio.internal:9000'],
    ['https://host?a=b', 'must not contain a query (?) or fragment (#)'],
  ])('%s is refused', async (value, text) => {
    const [ofFile, ...more] = await problems(yaml(`  endpoint: ${value}\n`))
    expect(ofFile).toContain(`settings.yaml:8: storage.endpoint ${text}`)
    expect(ofFile).not.toContain('secret-word')
    expect(more).toEqual([])
    const [ofVariable] = await problems(yaml(''), { AWS_ENDPOINT_URL_S3: value })
    expect(ofVariable).toContain(`AWS_ENDPOINT_URL_S3: ${text}`)
  })
})

describe('the url is refused', () => {
  test.each(
    Object.entries({
      fieldwork: 'must begin with s3:// or az://, such as s3://bucket/prefix',
      's3a://research': 'must begin with s3:// or az://, such as s3://bucket/prefix',
      'gs://research':
        'must begin with s3:// or az://: Google Cloud Storage has no conditional writes in its S3 protocol',
      'abfss://data@account.dfs.core.windows.net/a':
        'must begin with s3:// or az://: write az://container/prefix, and name the account in AZURE_STORAGE_ACCOUNT',
      'https://minio:9000/research': 'the address of the server belongs into storage.endpoint',
      's3://': 'must name a bucket, such as s3://bucket/prefix',
      's3:///a': 'must name a bucket, such as s3://bucket/prefix',
      's3://key:secret-word@research/a': 'must not contain a user or password',
      's3://research/a?region=b': 'must not contain a query (?) or fragment (#)',
      's3://research#a': 'must not contain a query (?) or fragment (#)',
      's3://Research': 'must name a bucket of 3 to 63 lower-case letters',
      's3://re': 'must name a bucket of 3 to 63 lower-case letters',
      's3://research:9000/a': 'must name a bucket of 3 to 63 lower-case letters',
      's3://10.0.0.1/a': 'must name a bucket of 3 to 63 lower-case letters',
      's3://re..search': 'must name a bucket of 3 to 63 lower-case letters',
      'az://re.search': 'must name a container of 3 to 63 lower-case letters, digits and hyphens',
      'az://re--search': 'must name a container of 3 to 63',
      'az://research@account/a': 'must not contain a user or password',
      's3://research//a': 'must have no empty part (//)',
      's3://research/a//b': 'must have no empty part (//)',
      's3://research/a/../b': 'must have no empty part (//) and no part . or ..',
      's3://research/a\u0007b': 'must have only printable characters',
      [`s3://research/${'ü'.repeat(257)}`]: 'must have at most 512 bytes after the bucket',
    }),
  )('%s', async (url, text) => {
    const problem = await urlProblem(url)
    expect(problem).toContain('settings.yaml:7: storage.url ')
    expect(problem).toContain(text)
    expect(problem).not.toContain('secret-word')
  })
})

test('other keys without a url are refused, but not beside a wrong url', async () => {
  expect(
    await problems('storage:\n  endpoint: https://host\n  region: eu-west-1\n  path_style: false\n'),
  ).toEqual(
    ['endpoint', 'region', 'path_style'].map(
      (key, index) =>
        `settings.yaml:${7 + index}: storage.${key} needs storage.url; set it, such as s3://bucket/prefix, or remove this key`,
    ),
  )
  expect(await problems('storage:\n  url: nothing\n  region: eu-west-1\n')).toEqual([
    'settings.yaml:7: storage.url must begin with s3:// or az://, such as s3://bucket/prefix',
  ])
  expect(await problems('storage:\n  url: s3://research\n  region: "eu west"\n')).toEqual([
    'settings.yaml:8: storage.region must be the name of a region, such as eu-west-1',
  ])
})

describe('an address az://', () => {
  const KEY = 'a2V5IG9mIHRoZSBhY2NvdW50'
  const SAS = 'sv=2026-01-01&sr=c&sig=a%2Bsecret%2Fsignature'
  const yaml = (rest = '') => `storage:\n  url: az://research/field\n${rest}`

  test.each([
    ['an account alone', { AZURE_STORAGE_ACCOUNT: 'acme' }, {}],
    ['a key', { AZURE_STORAGE_ACCOUNT: 'acme', AZURE_STORAGE_KEY: KEY }, { key: KEY }],
    ['a SAS', { AZURE_STORAGE_ACCOUNT: 'acme', AZURE_STORAGE_SAS_TOKEN: `?${SAS}` }, { sas: SAS }],
    [
      'a connection string',
      { AZURE_STORAGE_CONNECTION_STRING: `AccountName=acme;AccountKey=${KEY}==;` },
      { key: `${KEY}==` },
    ],
    [
      'the connection string of a SAS',
      {
        AZURE_STORAGE_CONNECTION_STRING: `BlobEndpoint=https://acme.blob.core.windows.net/;SharedAccessSignature=${SAS}`,
      },
      { sas: SAS },
    ],
  ])('is reached with %s', async (_, env, { key, sas }: { key?: string; sas?: string }) => {
    const settings = await load({ yaml: `${ACCOUNT}${yaml()}`, env })
    const { azure, endpoint, ...where } = settings.storage ?? {}
    expect(where).toMatchObject({ bucket: 'research', prefix: 'field', region: null, pathStyle: false })
    expect(endpoint).toBe('https://acme.blob.core.windows.net')
    expect(azure).toMatchObject({ account: 'acme', blobs: endpoint })
    expect([azure?.key?.reveal() ?? null, azure?.sas?.reveal() ?? null]).toEqual([key ?? null, sas ?? null])
    const redact = createRedactor(secretsOf(settings))
    const visible = [
      ...Object.values(env).filter((text) => text !== 'acme'),
      ...(sas === undefined ? [] : ['a+secret/signature', 'a%2Bsecret%2Fsignature']),
    ]
    for (const text of visible) expect(redact(`<${text}>`)).toMatch(/^<\??\[redacted\]>$/)
    expect(JSON.stringify(settings)).not.toContain(key ?? 'secret%2Fsignature')
  })

  test('another cloud is an endpoint of the settings, or a suffix', async () => {
    const endpoint = 'https://acme.blob.core.usgovcloudapi.net'
    expect(await storageOf(yaml(`  endpoint: ${endpoint}/\n`))).toMatchObject({
      endpoint,
      azure: { account: 'acme' },
    })
    const connection = `AccountName=acme;AccountKey=${KEY};EndpointSuffix=core.usgovcloudapi.net`
    expect(await storageOf(yaml(), { AZURE_STORAGE_CONNECTION_STRING: connection })).toMatchObject({
      endpoint,
    })
  })

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['no account', {}, 'AZURE_STORAGE_ACCOUNT: must name the storage account of az://'],
    [
      'half a connection string',
      { AZURE_STORAGE_CONNECTION_STRING: 'secret-word' },
      'AZURE_STORAGE_CONNECTION_STRING: must be as the portal shows it, such as DefaultEndpointsProtocol=https',
    ],
    [
      'no address in it',
      { AZURE_STORAGE_CONNECTION_STRING: 'BlobEndpoint=secret-word;AccountKey=secret-word' },
      'AZURE_STORAGE_CONNECTION_STRING: must have the address of a server in BlobEndpoint',
    ],
    ...['https://user:secret-word@acme.example', 'https://acme.example/?sig=secret-word'].map(
      (address): [string, Readonly<Record<string, string>>, string] => [
        `credentials in ${address}`,
        { AZURE_STORAGE_CONNECTION_STRING: `BlobEndpoint=${address};AccountKey=${KEY}` },
        'AZURE_STORAGE_CONNECTION_STRING: must have no user, password or query in BlobEndpoint',
      ],
    ),
    [
      'another protocol',
      { AZURE_STORAGE_CONNECTION_STRING: `DefaultEndpointsProtocol=ftp;AccountName=acme;AccountKey=${KEY}` },
      'AZURE_STORAGE_CONNECTION_STRING: must have the address of a server in BlobEndpoint',
    ],
    [
      'an address in place of the account',
      { AZURE_STORAGE_ACCOUNT: 'secret-word.example/acme', AZURE_STORAGE_KEY: KEY },
      'AZURE_STORAGE_ACCOUNT: must name a storage account by its 3 to 24 lower-case letters and digits',
    ],
    [
      'half a key',
      { AZURE_STORAGE_ACCOUNT: 'acme', AZURE_STORAGE_KEY: 'secret-word' },
      'AZURE_STORAGE_KEY: must have the key of the account as the portal shows it, in base64',
    ],
    [
      'plain http to another host',
      { AZURE_STORAGE_CONNECTION_STRING: `DefaultEndpointsProtocol=http;AccountName=acme;AccountKey=${KEY}` },
      'AZURE_STORAGE_CONNECTION_STRING: would send the data over plain http to another host; use https',
    ],
    [
      'an identity over http',
      { AZURE_STORAGE_CONNECTION_STRING: 'BlobEndpoint=http://127.0.0.1:10000/acme' },
      'AZURE_STORAGE_CONNECTION_STRING: must come with a key or a SAS: an identity is sent only over https',
    ],
  ])('%s is refused', async (_, env, text) => {
    const [found, ...more] = await problems(yaml(), env)
    expect(found).toContain(text)
    expect(found).not.toContain('secret-word')
    expect(more).toEqual([])
  })

  test('an endpoint of plain http is refused at its line', async () => {
    const env = { AZURE_STORAGE_ACCOUNT: 'acme', AZURE_STORAGE_KEY: KEY }
    expect(await problems(yaml('  endpoint: http://blobs.example\n'), env)).toEqual([
      expect.stringMatching(/^settings\.yaml:8: storage\.endpoint would send the data over plain http/),
    ])
  })

  test('has no region and no path style', async () => {
    expect(
      await problems(yaml('  region: eu-west-1\n  path_style: true\n'), { AZURE_STORAGE_ACCOUNT: 'acme' }),
    ).toEqual(
      ['region', 'path_style'].map(
        (key, index) => `settings.yaml:${8 + index}: storage.${key} is for s3:// only; remove this key`,
      ),
    )
  })
})

test('the credentials of the environment are redacted with a bucket, and only then', async () => {
  const env = { AWS_SECRET_ACCESS_KEY: 'a-secret/of+AWS', AWS_SESSION_TOKEN: 'a-session-token' }
  const settings = await load({ yaml: `${ACCOUNT}storage:\n  url: s3://research\n`, env })
  const redact = createRedactor(secretsOf(settings))
  expect(redact('a-secret/of+AWS and a-session-token')).toBe('[redacted] and [redacted]')
  expect(JSON.stringify(settings)).not.toContain('a-session-token')
  expect(secretsOf(await load({ yaml: ACCOUNT, env }))).toHaveLength(1)
})
