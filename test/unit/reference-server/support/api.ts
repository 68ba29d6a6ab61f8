/**
 * Starts a server on a free port, and sends it requests as one of its accounts. Every answer is checked against the
 * OpenAPI document of the server, which `openapi.test.ts` compares with the API document.
 */
import type { z } from 'zod'
import type { pagination } from '../../../../src/reference-server/api/endpoints.js'
import type { WorldChange } from '../../../../src/reference-server/control/truth.js'
import type { ReferenceServerOptions } from '../../../../src/reference-server/options.js'
import type {
  ProgressResource,
  SampleSourceResource,
  SurveyResource,
} from '../../../../src/reference-server/resources.js'
import { startReferenceServer } from '../../../../src/reference-server/server.js'
import { type Check, checkBy } from './described.js'

export const START_AT = '2026-03-01T00:00:00Z'

type Pagination = z.output<typeof pagination>

type SurveyTruth = SurveyResource & {
  readonly sample_sources: readonly SampleSourceResource[]
  readonly fieldwork_progress: ProgressResource
  readonly sample_source_progress: Readonly<Record<string, ProgressResource>>
}

interface AccountTruth {
  readonly name: string
  readonly id: number
  readonly surveys: readonly SurveyTruth[]
}

export interface ReceivedAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

/** The document is the same for all servers except for their address, so it is compiled once. */
let checking: Promise<Check> | undefined

const readCheck = async (origin: string): Promise<Check> => {
  const response = await fetch(`${origin}/_reference/openapi.json`)
  return checkBy((await response.json()) as object)
}

/** A server with a frozen clock and without a cap, unless `options` say otherwise. */
export const startApi = async (options: ReferenceServerOptions = {}) => {
  const server = await startReferenceServer({
    port: 0,
    clock: 'frozen',
    rateWindow: 'none',
    startAt: START_AT,
    ...options,
  })
  const credentials = (account = 0): Record<string, string> => ({
    'Authorization-ID': String(server.accounts[account]!.id),
    'Authorization-Token': server.accounts[account]!.token,
  })
  checking ??= readCheck(server.origin)
  const check = await checking
  /** Faults make answers that the document does not describe. */
  let faulty = options.faults !== undefined
  const fetchText = async (url: string, init: RequestInit = {}): Promise<ReceivedAnswer> => {
    const response = await fetch(url, init)
    const { status, headers } = response
    const text = await response.text()
    const isPage = headers.get('content-type')?.startsWith('text/html') === true
    const json: unknown = text === '' || isPage ? null : JSON.parse(text)
    const method = init.method ?? 'GET'
    const { pathname: path } = new URL(url)
    if (path === '/_reference/faults' && method !== 'GET') faulty = true
    const problem =
      faulty && !path.startsWith('/_reference/') ? null : check({ method, path, status, headers, json })
    if (problem !== null) throw new Error(`${method} ${url}: ${problem}\n${text.slice(0, 1_000)}`)
    return { status, headers, text, json }
  }
  const ask = (path: string, account = 0): Promise<ReceivedAnswer> =>
    fetchText(`${server.baseUrl}${path}`, { headers: credentials(account) })
  const control = (path: string, init?: RequestInit): Promise<ReceivedAnswer> =>
    fetchText(`${server.origin}/_reference${path}`, init)
  const moveTime = async (setting: { advance: string } | { set: string }): Promise<void> => {
    const { status, text } = await control('/time', { method: 'POST', body: JSON.stringify(setting) })
    if (status !== 200) throw new Error(text)
  }
  const read = async <Body>(path: string, account = 0) => (await ask(path, account)).json as Body
  const readSurveys = (query = '', account = 0) =>
    read<{ surveys: readonly SurveyResource[]; pagination: Pagination }>(`/surveys${query}`, account)
  const readSources = (id: number, query = '') =>
    read<{ sample_sources: readonly SampleSourceResource[]; pagination: Pagination }>(
      `/surveys/${id}/sample_sources${query}`,
    )
  const readProgress = async (id: number, query = '') =>
    (await read<{ fieldwork_progress: ProgressResource }>(`/surveys/${id}/fieldwork_progress${query}`))
      .fieldwork_progress
  const readTruth = async (query = '') =>
    (await control(`/truth${query}`)).json as { now: string; accounts: readonly AccountTruth[] }
  const readChanges = async (from: string, to: string) => {
    const range = new URLSearchParams({ from, to })
    return ((await control(`/changes?${range}`)).json as { changes: readonly WorldChange[] }).changes
  }
  return {
    server,
    credentials,
    fetchText,
    ask,
    control,
    moveTime,
    readSurveys,
    readSources,
    readProgress,
    readTruth,
    readChanges,
    [Symbol.asyncDispose]: () => server.close(),
  }
}

export type Api = Awaited<ReturnType<typeof startApi>>

/** Milliseconds with a fraction for the microseconds, which a `Date` would drop. */
export const micros = (text: string): number => {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? ''
  return Date.parse(text.replace(/\.\d+/, '')) * 1000 + Number(fraction.padEnd(6, '0'))
}
