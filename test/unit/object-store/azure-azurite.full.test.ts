/** What the client of Azure Blob Storage presents to Azurite in place of a key. The contract over it is in `integration/stores`. */

import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../../src/base/secret.js'
import { lacksEnvironment } from '../../integration/readers/python.js'
import { run } from '../../support/command/command.js'
import { withSettings } from '../../support/command/sync.js'
import { type Finished, temporaryDirectory } from '../../support/files/temporary.js'
import { type Certificates, makeCertificates } from '../../support/servers/certificates.js'
import { listen } from '../../support/servers/server.js'
import { openAzure, startAzurite } from '../../support/storage/azurite.js'
import { NEVER } from '../../support/storage/bucket.js'
import { withEnvironment } from '../../support/storage/credentials.js'
import { lacks } from '../../support/suite/lacks.js'

const TENANT = 'b4c2c5a0-1111-4222-8333-444455556666'

/** The token endpoint of Entra ID, which gives a token for what a pod's own token says. */
const startEntra = async (finished: Finished, { key, cert }: Certificates) => {
  const requests: string[] = []
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const seconds = Math.floor(Date.now() / 1_000)
  const claims = {
    ...{ aud: 'https://storage.azure.com', iss: `https://sts.windows.net/${TENANT}/`, oid: 'x', tid: TENANT },
    ...{ iat: seconds - 60, nbf: seconds - 60, exp: seconds + 3_600 },
  }
  const token = `${encoded({ alg: 'RS256', typ: 'JWT' })}.${encoded(claims)}.c2lnbmVk`
  const server = createServer({ key, cert }, async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { host } = request.headers
    requests.push(`${request.url} ${body}`)
    const root = `https://${host}/${TENANT}`
    const answer = request.url?.includes('openid-configuration')
      ? {
          token_endpoint: `${root}/oauth2/v2.0/token`,
          authorization_endpoint: `${root}/oauth2/v2.0/authorize`,
          issuer: `${root}/v2.0`,
          jwks_uri: `${root}/keys`,
        }
      : { token_type: 'Bearer', expires_in: 3_600, access_token: token }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  return { authority: `https://127.0.0.1:${await listen(server, finished)}/`, requests, token }
}

describe.skipIf(lacksEnvironment('azurite'))('the client over Azurite', () => {
  test('a shared access signature that is wrong is refused', async ({ onTestFinished }) => {
    const azurite = await startAzurite(onTestFinished)
    const sas = new Secret('sv=2024-11-04&sr=c&sp=rwdl&se=2099-01-01T00%3A00%3A00Z&sig=d3Jvbmc%3D')
    const bucket = await azurite.createContainer()
    const store = await openAzure(onTestFinished, { ...azurite, key: null, sas }, { bucket })
    await expect(store.get('a', NEVER)).rejects.toThrow(/refused \(403 Auth\w+\); check/)
  })

  test.skipIf(lacks('openssl'))('a workload identity needs no secret', async ({ onTestFinished }) => {
    const directory = await temporaryDirectory(onTestFinished)
    const certificates = makeCertificates(directory, ['IP:127.0.0.1'])
    const tls = { key: join(directory, 'server.key'), cert: join(directory, 'server.pem') }
    const { blobs, createContainer } = await startAzurite(onTestFinished, tls)
    // Only this process trusts it without its authority.
    withEnvironment(onTestFinished, { NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    const bucket = await createContainer()
    const entra = await startEntra(onTestFinished, certificates)
    const tokenFile = join(directory, 'token-of-the-pod')
    await writeFile(tokenFile, 'the-token-of-the-pod')
    const account = { base_url: 'https://127.0.0.1:1/api/v1', id: 1, token: 'a-token-of-the-api' }
    const settings = await withSettings(
      { accounts: [account], storage: { url: `az://${bucket}/p` } },
      onTestFinished,
    )
    const env = {
      AZURE_STORAGE_CONNECTION_STRING: `AccountName=devstoreaccount1;BlobEndpoint=${blobs}`,
      AZURE_CLIENT_ID: 'c1',
      AZURE_TENANT_ID: TENANT,
      AZURE_FEDERATED_TOKEN_FILE: tokenFile,
      AZURE_AUTHORITY_HOST: entra.authority,
      NODE_EXTRA_CA_CERTS: certificates.caFile,
      FIELDWORK_SYNC_WAREHOUSE: join(directory, 'pod'),
      AZURE_LOG_LEVEL: 'verbose',
    }
    const { stdout, stderr } = await run(['check', ...settings], env)
    expect(stdout).toContain(`az://${bucket}/p: conditional writes hold; nothing is published yet`)
    expect(entra.requests.join('\n')).toContain('client_assertion=the-token-of-the-pod')
    expect(`${stdout}${stderr}`).not.toContain(entra.token)
    expect(`${stdout}${stderr}`).not.toContain('the-token-of-the-pod')
  })
})
