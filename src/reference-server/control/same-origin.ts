/**
 * Keeps web pages away from the routes under `/_reference`, which need no credentials. A page of another site sends its own `Origin`. If
 * the owner of a host name points the name at this machine (DNS rebinding), the browser sends this name as `Host`.
 */
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { Refusal } from '../answer.js'

export const FOREIGN = 'The `Host` is not an address of this server, or the `Origin` is another site'

/** Throws a `Refusal` unless `Host` names this machine or the address that was called, and `Origin` is absent or the same. */
export const refuseForeign = ({ headers, socket }: FastifyRequest, boundHost: string): void => {
  const name = hostnameOf(headers.host ?? '')
  const own = [boundHost, socket.localAddress ?? ''].map(plainAddress)
  if (name === null || !(isLoopback(name) || own.includes(name)))
    throw new Refusal(
      403,
      'the header Host is not an address of this server: use its IP address, or localhost',
    )
  const { origin } = headers
  if (origin !== undefined && origin !== `http://${headers.host}`)
    throw new Refusal(
      403,
      'the header Origin names another site: only pages of this server may use this path',
    )
}

/** The host without its port, in the one form that `URL` gives every address; null for a header that is no host. */
const hostnameOf = (host: string): string | null => {
  const isHost = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host)
  return isHost && URL.canParse(`http://${host}`) ? plainAddress(new URL(`http://${host}`).hostname) : null
}

/** An IPv6 address without brackets, and an IPv4 address that IPv6 carries as IPv4. */
const plainAddress = (address: string): string =>
  address
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^::ffff:(?=[\d.]+$)/, '')

const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
