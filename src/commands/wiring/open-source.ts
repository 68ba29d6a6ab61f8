/** Opens the API of one account: an HTTP client with its credentials, and the survey source on top. */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { createHttpClient, type HttpLimits } from '../../http/client.js'
import type { CreateTransport } from '../../http/transport.js'
import type { SurveySource } from '../../model/survey-source.js'
import type { AccountSettings } from '../../settings/settings.js'
import { createSurveySource } from '../../survey-api/survey-source.js'

export interface OpenSource extends AsyncDisposable {
  readonly source: SurveySource
}

export interface SourceOptions {
  readonly account: AccountSettings
  readonly limits: HttpLimits
  /** Directory of the request ledger. Only the holder of the warehouse may open it. */
  readonly ledgerDirectory: string
  /** Throws if this process may no longer send requests: another one may have taken over the warehouse. */
  readonly requireAdmission: () => void
  readonly clock: Clock
  readonly log: Log
  /** The network, by default the real one. */
  readonly createTransport?: CreateTransport | undefined
}

/** Dispose of the source to end its connections and timers. */
export const openSource = ({ account, ...options }: SourceOptions): OpenSource => {
  const { clock, limits } = options
  const http = createHttpClient({
    ...account,
    ...options,
    account: account.name,
    headers: { 'Authorization-ID': String(account.id), 'Authorization-Token': account.token },
    random: Math.random,
  })
  return {
    source: createSurveySource(http, clock, limits.attemptsMax),
    [Symbol.asyncDispose]: () => http.close(),
  }
}
