/**
 * The owner of a cap: an address and an identifier, regardless of the account's name in the settings. Ledger files, slots in
 * Redis and the check for two names of one account use this key, so a renamed account keeps its cap.
 */
import { createHash } from 'node:crypto'

export interface CapOwner {
  /** Address of the API. */
  readonly baseUrl: string
  /** The caller's identifier at this address (API document, "Authentication"). */
  readonly id: number
}

/** A key that is equal for equal caps, and different for different caps. */
export const capKey = ({ baseUrl, id }: CapOwner): string => `${normalizedAddress(baseUrl)} ${id}`

/**
 * The normal form of a base address: scheme and host in lower case, no dot at the end of the host, no default port, single
 * slashes, no slash at the end, percent-encoding only where it is needed. Throws if `baseUrl` is not a URL.
 */
const normalizedAddress = (baseUrl: string): string => {
  const { protocol, hostname, port, pathname } = new URL(baseUrl)
  const path = pathname
    .replaceAll(/%[0-9a-f]{2}/gi, normalizedEscape)
    .replaceAll(/\/+/g, '/')
    .replace(/\/$/, '')
  return `${protocol}//${withoutDot(hostname)}${port === '' ? '' : `:${port}`}${path}`
}

const withoutDot = (hostname: string): string => hostname.replace(/\.+$/, '')

const normalizedEscape = (encoded: string): string => {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
  return /[\w.~-]/.test(character) ? character : encoded.toUpperCase()
}

const HOST_LENGTH_MAX = 60
/** Hexadecimal digits, enough that no two caps in a directory get the same name. */
const DIGEST_LENGTH = 16

/** `prefix-host-id.digest.ending`: readable, in lower case, without the path. Different caps get different names. */
export const capFileName = (prefix: string, owner: CapOwner, ending: string): string => {
  const { hostname, port } = new URL(owner.baseUrl)
  const host = [withoutDot(hostname), port].filter((part) => part !== '').join('_')
  const readable = host.replaceAll(/[^a-z0-9._-]+/g, '_').slice(0, HOST_LENGTH_MAX)
  const digest = createHash('sha256').update(capKey(owner)).digest('hex').slice(0, DIGEST_LENGTH)
  return `${prefix}-${readable}-${owner.id}.${digest}.${ending}`
}
