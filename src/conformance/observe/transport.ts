/** How answers travel: headers, connections, and what a refusal for the rate looks like. */

import type { Answer } from '../read/answer.js'
import type { Evidence } from '../read/evidence.js'
import type { Observation } from '../verdict.js'

const answersOf = ({ reader }: Evidence): readonly Answer[] => reader.seen.answers.map(({ answer }) => answer)

const date: Observation = {
  topic: 'Date header',
  section: 'Endpoints',
  observe: (evidence) => {
    const answers = answersOf(evidence)
    const dated = answers.flatMap(({ dateMs, sentAtMs, headersAtMs }) =>
      // A date is cut to its second; half of the way there and back is the best guess of when it was written.
      dateMs === null ? [] : [dateMs + 500 - (sentAtMs + headersAtMs) / 2],
    )
    if (dated.length === 0) return 'none, or not an HTTP date'
    const middle = [...dated].sort((a, b) => a - b)[dated.length >> 1] ?? 0
    const seconds = Math.round(middle / 1_000)
    const distance =
      seconds === 0
        ? 'within a second of our clock'
        : `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} our clock`
    return `in ${dated.length} of ${answers.length} answers, ${distance}`
  },
}

const gzip: Observation = {
  topic: 'compression',
  section: 'Endpoints',
  observe: (evidence) => {
    const answers = answersOf(evidence)
    const packed = answers.filter((answer) => answer.header('content-encoding') !== null)
    const codings = [
      ...new Set(packed.map((answer) => evidence.reader.show(answer.header('content-encoding')))),
    ]
    return packed.length === 0
      ? 'none, though gzip was offered'
      : `${codings.join(', ')} in ${packed.length} of ${answers.length} answers`
  },
}

const keepAlive: Observation = {
  topic: 'keep-alive',
  section: 'Endpoints',
  observe: ({ sender }) => {
    const { connections, requestsWithCredentials } = sender.usage()
    return `${requestsWithCredentials} requests over ${connections} ${connections === 1 ? 'connection' : 'connections'}`
  },
}

const rateHeaders: Observation = {
  topic: 'headers that tell of the rate limit',
  section: 'Limits',
  observe: (evidence) => {
    const headers = answersOf(evidence).at(-1)?.rateHeaders ?? []
    return headers.length === 0 ? 'none' : headers.join('; ')
  },
}

const refusals: Observation = {
  topic: 'answers 429 below the cap',
  section: 'Limits',
  last: true,
  observe: ({ sender }) => {
    const { refusals: count } = sender.usage()
    return count === 0 ? 'none' : `${count}, waited out: somebody else uses the account, or its cap is lower`
  },
}

const refusal: Observation = {
  topic: 'an answer 429',
  section: 'Errors',
  last: true,
  observe: async ({ burst }) => {
    const { sent, last } = await burst()
    if (last.status !== 429) return `none in ${sent} requests at once`
    const told = last.rateHeaders.length === 0 ? 'no Retry-After' : last.rateHeaders.join('; ')
    return `within ${sent} requests at once; ${told}; body ${last.excerpt}`
  },
}

export const TRANSPORT_OBSERVATIONS: readonly Observation[] = [
  date,
  gzip,
  keepAlive,
  rateHeaders,
  refusals,
  refusal,
]
