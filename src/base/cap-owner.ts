/**
 * Whose cap a request spends: the account behind an address and an identifier, whatever the settings call it. What is kept about a cap
 * (the requests sent, the slots in Redis, the check for two names) goes by this key, so a renamed account stays the same account.
 */
import { createHash } from 'node:crypto'

export interface CapOwner {
  /** Address of the API. */
  readonly baseUrl: string
  /** The caller's identifier there (API document, "Authentication"). */
  readonly id: number
}

/** The same text for the same cap, and another one for any other. */
export const capKey = ({ baseUrl, id }: CapOwner): string => `${normalizedAddress(baseUrl)} ${id}`

/**
 * One way to write a base address: scheme and host in lower case without the dot of a full name, no default port, single slashes and none
 * at the end, percent-encoding only where it is needed. Throws where `baseUrl` is no URL.
 */
const normalizedAddress = (baseUrl: string): string => {
  const { protocol, hostname, port, pathname } = new URL(baseUrl)
  const path = pathname
    .replaceAll(/%[0-9a-f]{2}/gi, plainest)
    .replaceAll(/\/+/g, '/')
    .replace(/\/$/, '')
  return `${protocol}//${withoutDot(hostname)}${port === '' ? '' : `:${port}`}${path}`
}

const withoutDot = (hostname: string): string => hostname.replace(/\.+$/, '')

const plainest = (encoded: string): string => {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
  return /[\w.~-]/.test(character) ? character : encoded.toUpperCase()
}

const HOST_LENGTH_MAX = 60
/** Hexadecimal digits: no two caps of a directory meet. */
const DIGEST_LENGTH = 16

/** `prefix-host-id.digest.ending`: readable, without the path, in lower case, and different where the caps are. */
export const capFileName = (prefix: string, owner: CapOwner, ending: string): string => {
  const { hostname, port } = new URL(owner.baseUrl)
  const host = [withoutDot(hostname), port].filter((part) => part !== '').join('_')
  const readable = host.replaceAll(/[^a-z0-9._-]+/g, '_').slice(0, HOST_LENGTH_MAX)
  const digest = createHash('sha256').update(capKey(owner)).digest('hex').slice(0, DIGEST_LENGTH)
  return `${prefix}-${readable}-${owner.id}.${digest}.${ending}`
}
