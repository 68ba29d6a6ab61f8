/** Reads the settings of a shared cap: the Redis that holds it, and the fallback while that Redis is away. */
import { Secret } from '../base/secret.js'
import { bad, good, type Reader } from './readers.js'

/** Address of the Redis. No problem quotes it, because it may hold a password. */
export const readRedisUrl: Reader<Secret> = (value) => {
  const problem =
    'must be the URL of a Redis, such as redis://redis:6379 or rediss://user:password@host:6380/0'
  if (typeof value !== 'string' || !URL.canParse(value)) return bad(problem)
  const { protocol, hostname, pathname, search, hash } = new URL(value)
  const isRedis = protocol === 'redis:' || protocol === 'rediss:'
  // The client would read options from a query, such as a password and another database.
  const isPlain = search === '' && hash === '' && /^\/?\d{0,3}$/.test(pathname)
  return isRedis && hostname !== '' && isPlain ? good(new Secret(value)) : bad(problem)
}

/** `stop`, or how many requests this process may send without Redis. */
export type Fallback =
  | { readonly kind: 'stop' }
  | { readonly kind: 'percentage'; readonly percent: number }
  | { readonly kind: 'count'; readonly requests: number }

export const readFallback: Reader<Fallback> = (value) => {
  if (value === 'stop') return good({ kind: 'stop' })
  const percent = typeof value === 'string' ? Number(/^(\d{1,3})%$/.exec(value)?.[1]) : Number.NaN
  if (percent >= 1 && percent <= 100) return good({ kind: 'percentage', percent })
  const requests = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value
  return typeof requests === 'number' && Number.isInteger(requests) && requests >= 1 && requests <= 10_000
    ? good({ kind: 'count', requests })
    : bad('must be stop, a percentage of the cap such as 50%, or a number of requests such as 20')
}

/** Requests per window of this process while Redis is away; null to stop instead, 0 if the percentage gives less than one. */
export const fallbackOf = (setting: Fallback, cap: number): number | null => {
  if (setting.kind === 'stop') return null
  return setting.kind === 'count' ? setting.requests : Math.floor((cap * setting.percent) / 100)
}
