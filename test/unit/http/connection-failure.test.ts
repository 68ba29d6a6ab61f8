/** What the code of a connection error says: whether the request can have been sent. */
import { expect, test } from 'vitest'
import { connectionFailure } from '../../../src/http/connection-failure.js'

const withCode = (code: string) => Object.assign(new Error('boom'), { code })

test.each([
  ['ECONNREFUSED', true],
  ['ENOTFOUND', true],
  ['EAI_AGAIN', true],
  ['UND_ERR_CONNECT_TIMEOUT', true],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', true],
  ['ERR_SSL_WRONG_VERSION_NUMBER', true],
  ['ERR_TLS_CERT_ALTNAME_INVALID', true],
  ['ECONNRESET', false],
  ['EPIPE', false],
  ['ETIMEDOUT', false],
  ['UND_ERR_SOCKET', false],
  ['ESOMETHINGNEW', false],
])('%s: certainly never sent? %s', (code, certainlyUnsent) => {
  const failure = connectionFailure(withCode(code))
  expect(failure?.certainlyUnsent).toBe(certainlyUnsent)
  expect(failure?.problem).toContain(`(${code})`)
})

test('what is a mistake of ours is not taken for a connection that failed', () => {
  expect(connectionFailure(new TypeError('x is not a function'))).toBeNull()
  expect(connectionFailure(withCode('UND_ERR_INVALID_ARG'))).toBeNull()
  expect(connectionFailure('text')).toBeNull()
})

test.each([
  ['ECONNREFUSED', 'later'],
  ['EAI_AGAIN', 'later'],
  ['ESOMETHINGNEW', 'later'],
  ['ENOTFOUND', 'if known'],
  ['CERT_HAS_EXPIRED', 'never'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'never'],
  ['HPE_INVALID_CONSTANT', 'never'],
])('%s: does it pass if one waits? %s', (code, passes) => {
  expect(connectionFailure(withCode(code))?.passes).toBe(passes)
})
