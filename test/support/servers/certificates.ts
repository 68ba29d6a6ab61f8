/** Makes a certificate authority and a server certificate with openssl. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Certificates {
  /** The authority's certificate, for NODE_EXTRA_CA_CERTS. */
  readonly caFile: string
  readonly key: string
  readonly cert: string
}

/** Makes certificates for the given names, such as `DNS:api.test` or `IP:127.0.0.1`. */
export const makeCertificates = (directory: string, names: readonly string[]): Certificates => {
  const file = (name: string) => join(directory, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  writeFileSync(file('names.cnf'), `subjectAltName=${names.join(',')}\n`)
  openssl(
    ...['req', '-x509', ...newKey, '-keyout', file('ca.key'), '-out', file('ca.pem')],
    ...['-days', '2', '-subj', '/CN=test authority'],
  )
  openssl(
    ...['req', ...newKey, '-keyout', file('server.key'), '-out', file('server.csr')],
    ...['-subj', '/CN=test server'],
  )
  openssl(
    ...['x509', '-req', '-in', file('server.csr'), '-CA', file('ca.pem'), '-CAkey', file('ca.key')],
    ...['-set_serial', '1', '-days', '2', '-extfile', file('names.cnf'), '-out', file('server.pem')],
  )
  return {
    caFile: file('ca.pem'),
    key: readFileSync(file('server.key'), 'utf8'),
    cert: readFileSync(file('server.pem'), 'utf8'),
  }
}
