/** Computes a client's pace from the reference server's own log of arrivals. Times are real, in milliseconds. */
import type { ReferenceServer } from '../../../src/reference-server/server.js'

export interface Pace {
  readonly requests: number
  readonly refused: number
  /** The highest number of arrivals in any window of that length. */
  mostInAny(windowMs: number): number
  /** The shortest time from an arrival to the nth one after it. */
  soonestMs(nth: number): number
}

export const paceOf = async (server: ReferenceServer): Promise<Pace> => {
  const response = await fetch(`${server.origin}/_reference/requests`)
  const { requests } = (await response.json()) as { requests: { at_ms: number; status: number | null }[] }
  const times = requests.map(({ at_ms }) => at_ms).sort((a, b) => a - b)
  return {
    requests: times.length,
    refused: requests.filter(({ status }) => status === 429).length,
    mostInAny: (windowMs) => mostInAny(times, windowMs),
    soonestMs: (nth) =>
      Math.min(...times.slice(nth).map((time, first) => time - (times[first] ?? Number.NaN))),
  }
}

/** The highest number of times, which are sorted, in any window of that length. */
export const mostInAny = (times: readonly number[], windowMs: number): number => {
  let first = 0
  let most = 0
  for (const [last, time] of times.entries()) {
    while (time - (times[first] ?? time) >= windowMs) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}

/** The environment that a sync needs to reach a server's first account. */
export const envOf = (server: ReferenceServer): Record<string, string> => {
  const [account] = server.accounts
  if (account === undefined) throw new Error('the server has no account')
  return {
    FIELDWORK_SYNC_BASE_URL: server.baseUrl,
    FIELDWORK_SYNC_API_ID: String(account.id),
    FIELDWORK_SYNC_API_TOKEN: account.token,
  }
}

/** The same for a warehouse, with more requests than a test makes. */
export const unlimitedEnv = (server: ReferenceServer, warehouse: string) => ({
  ...envOf(server),
  FIELDWORK_SYNC_RATE_LIMIT: '10000/1s',
  FIELDWORK_SYNC_WAREHOUSE: warehouse,
})
