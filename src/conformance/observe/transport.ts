/** Transport: headers, connections, and the answer to requests beyond the cap. */
import type { Evidence } from '../read/evidence.js'
import type { Observation } from '../verdict.js'

/** How far the service's clock is from ours. */
const observeDate = ({ reader: { seen } }: Evidence): string => {
  const distancesMs = seen.answers.flatMap(({ dateMs, sentAtMs, headersAtMs }) =>
    // The date is cut to its second, and we take it for written halfway between request and answer.
    dateMs === null ? [] : [dateMs + 500 - (sentAtMs + headersAtMs) / 2],
  )
  if (distancesMs.length === 0) return 'none, or not an HTTP date'
  const medianMs = distancesMs.sort((a, b) => a - b)[distancesMs.length >> 1] ?? 0
  const seconds = Math.round(medianMs / 1_000)
  const distance =
    seconds === 0
      ? 'within a second of our clock'
      : `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} our clock`
  return `in ${distancesMs.length} of ${seen.answers.length} answers, ${distance}`
}

export const TRANSPORT_OBSERVATIONS: readonly Observation[] = [
  { topic: 'Date header', section: 'Endpoints', observe: observeDate },
  {
    topic: 'compression',
    section: 'Endpoints',
    observe: ({ reader: { seen, show } }) => {
      const codings = seen.answers.flatMap(({ header }) => header('content-encoding') ?? [])
      if (codings.length === 0) return 'none, though gzip was offered'
      const different = new Set(codings.map((coding) => show(coding)))
      return `${[...different].join(', ')} in ${codings.length} of ${seen.answers.length} answers`
    },
  },
  {
    topic: 'keep-alive',
    section: 'Endpoints',
    observe: ({ sender }) => {
      const { connections, requestsWithCredentials } = sender.usage()
      return `${requestsWithCredentials} requests over ${connections} ${connections === 1 ? 'connection' : 'connections'}`
    },
  },
  {
    topic: 'rate-limit headers',
    section: 'Limits',
    observe: ({ reader: { seen } }) => seen.answers.at(-1)?.rateHeaders.join('; ') || 'none',
  },
  {
    topic: 'answers 429 below the cap',
    section: 'Limits',
    last: true,
    observe: ({ sender }) => {
      const { refusals } = sender.usage()
      if (refusals === 0) return 'none'
      return `${refusals}, waited out: somebody else uses the account, or its cap is lower`
    },
  },
  {
    topic: 'a 429 answer',
    section: 'Errors',
    last: true,
    observe: async ({ burst }) => {
      const { sent, last } = await burst()
      if (last.status !== 429) return `none in ${sent} requests at once`
      const headers = last.rateHeaders.join('; ') || 'no Retry-After'
      return `within ${sent} requests at once; ${headers}; body ${last.excerpt}`
    },
  },
]
