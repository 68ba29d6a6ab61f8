/** What the client says when a store fails: one line, what to check, no credential. And what it does about faults that pass. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { makeCertificates } from '../../support/servers/certificates.js'
import { startTlsFront } from '../../support/servers/tls-front.js'
import { NEVER } from '../../support/storage/bucket.js'
import { SLOW_DOWN } from '../../support/storage/s3-server.js'
import { lacks } from '../../support/suite/lacks.js'
import { failureOf, first, open } from './s3-failures-shared.js'

describe('the message says', () => {
  test.skipIf(lacks('openssl'))('a certificate of an unknown authority', async () => {
    const { server } = await open(() => null)
    const certificates = makeCertificates(await temporaryDirectory(onTestFinished), ['IP:127.0.0.1'])
    const port = await startTlsFront(server.endpoint, certificates, onTestFinished)
    const { store } = await open(() => null, { endpoint: `https://127.0.0.1:${port}` })
    expect(await failureOf(store.get('a', NEVER))).toMatch(
      /the certificate of the server is not trusted \([A-Z_]+\); give its authority by NODE_EXTRA_CA_CERTS/,
    )
  })
})

describe('a fault that passes', () => {
  test('503 is repeated', async () => {
    const { store, server } = await open(first(1, 'put', SLOW_DOWN))
    expect((await store.putIfAbsent('a', Buffer.from('x'), NEVER)).kind).toBe('written')
    expect(server.requests).toHaveLength(2)
  })
})
