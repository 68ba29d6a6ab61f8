/**
 * Starts a server on a free port, and sends it requests as one of its accounts. Every answer is checked against the
 * OpenAPI document of the server. The shapes here are a second, loose copy of the API document's tables.
 */
import { z } from 'zod'
import type { ReferenceServerOptions } from '../../../../src/reference-server/options.js'
import { startReferenceServer } from '../../../../src/reference-server/server.js'
import { type Check, checkBy } from './described.js'

export const START_AT = '2026-03-01T00:00:00Z'

const survey = z.strictObject({
  id: z.int(),
  title: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  hashid: z.string(),
  project_id: z.string().nullable(),
  status: z.string(),
  owner_organization_id: z.int(),
  transition_style: z.enum(['single_page', 'multiple_pages']),
  respondent_questions_count: z.int(),
  respondent_iterations_count: z.int(),
})

const sampleSource = z.strictObject({
  id: z.int(),
  provider: z.enum(['panel', 'client_sample', 'social_networks', 'data_import']),
  sample_size: z.int(),
  country_code: z.string(),
  description: z.string(),
  name: z.string(),
  hashid: z.string(),
  panelist_id_required: z.boolean(),
  created_at: z.string(),
  updated_at: z.string(),
})

const statusCount = z.strictObject({ individuals: z.int(), percentage: z.number() })

const progress = z.strictObject({
  sample_size: z.int(),
  interviews_count: z.int(),
  interview_count_by_status: z.strictObject({
    complete: statusCount,
    incomplete: statusCount,
    quota_full: statusCount,
    screen_out: statusCount,
    above_target: statusCount,
    manual_action: statusCount,
    pending_analysis: statusCount,
    speeder: statusCount,
    straightliner: statusCount,
    failed_quality_check: statusCount,
    inappropriate_language: statusCount,
  }),
  completion_rate: z.number().nullable(),
  questionnaire_incidence_rate: z.number().nullable(),
  target_incidence_rate: z.number().nullable(),
  incidence_rate: z.number().nullable(),
  drop_out_rate: z.number().nullable(),
  length_of_interview: z.int().nullable(),
})

const pagination = z.strictObject({
  current_page: z.int(),
  next_page: z.int().nullable(),
  prev_page: z.int().nullable(),
  total_pages: z.int(),
  total_count: z.int(),
})

const surveyList = z.strictObject({ surveys: z.array(survey), pagination })
const sampleSourceList = z.strictObject({ sample_sources: z.array(sampleSource), pagination })
const fieldworkProgress = z.strictObject({ fieldwork_progress: progress })

const truth = z.strictObject({
  now: z.string(),
  accounts: z.array(
    z.strictObject({
      name: z.string(),
      id: z.int(),
      surveys: z.array(
        survey.extend({
          sample_sources: z.array(sampleSource),
          fieldwork_progress: progress,
          sample_source_progress: z.record(z.string(), progress),
        }),
      ),
    }),
  ),
})

const changes = z.strictObject({
  changes: z.array(
    z.strictObject({
      account: z.string(),
      survey_id: z.int(),
      at: z.string(),
      what: z.enum([
        'created',
        'status',
        'title',
        'project_id',
        'source_added',
        'source_changed',
        'source_removed',
      ]),
      status: z.string().optional(),
      sample_source_id: z.int().optional(),
    }),
  ),
})

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
  const readSurveys = async (query = '', account = 0) =>
    surveyList.parse((await ask(`/surveys${query}`, account)).json)
  const readSources = async (id: number, query = '') =>
    sampleSourceList.parse((await ask(`/surveys/${id}/sample_sources${query}`)).json)
  const readProgress = async (id: number, query = '') =>
    fieldworkProgress.parse((await ask(`/surveys/${id}/fieldwork_progress${query}`)).json).fieldwork_progress
  const readTruth = async (query = '') => truth.parse((await control(`/truth${query}`)).json)
  const readChanges = async (from: string, to: string) =>
    changes.parse(
      (await control(`/changes?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`)).json,
    ).changes
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
