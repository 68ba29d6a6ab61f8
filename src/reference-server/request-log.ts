/** Every arrival at the API with its real time, refused ones included. Requests of `foreignLoad` never arrive over HTTP. */
import { z } from 'zod'
import { object, text } from './resources.js'

export const loggedRequest = object('LoggedRequest', 'One arrival under `/api/v1`', {
  at_ms: z.number().meta({
    description:
      'Real time of arrival, milliseconds since 1970 with fractions, on a clock that never goes back',
  }),
  account: z
    .string()
    .nullable()
    .meta({ description: 'Name of the account; null when the credentials name none' }),
  method: text('Method of the request'),
  path: text('Path of the request'),
  query: text('Query as it was sent, without the question mark'),
  status: z
    .int()
    .nullable()
    .meta({ description: 'Status of the answer; null where a fault never sends one' }),
  faults: z.array(z.int()).meta({ description: 'Places, from 0, of the faults that acted on it' }),
})

type LoggedRequest = z.output<typeof loggedRequest>

const REQUESTS_MAX = 1_000_000

/** When the log is full, the oldest entries are dropped and counted. */
export const createRequestLog = (requestsMax: number = REQUESTS_MAX) => {
  let requests: LoggedRequest[] = []
  let dropped = 0
  /** In the order of arrival, and how many were dropped since the log was last cleared. */
  const list = (): { readonly requests: readonly LoggedRequest[]; readonly dropped: number } => ({
    requests,
    dropped,
  })
  return {
    list,
    add: (request: LoggedRequest): void => {
      if (requests.push(request) <= requestsMax) return
      requests.shift()
      dropped += 1
    },
    /** Returns the empty list. */
    clear: (): ReturnType<typeof list> => {
      requests = []
      dropped = 0
      return list()
    },
  }
}
