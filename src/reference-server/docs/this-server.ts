/**
 * What the docs page says beyond the OpenAPI document: how this server is set, and a request to copy for each endpoint
 * with what this world answers to it at this moment.
 */
import { API_PREFIX, type Endpoint } from '../api/operation.js'
import { flagOf } from '../option-texts.js'
import type { ReferenceServerSettings } from '../options.js'
import { formatUtc, type Micros } from '../time/iso-time.js'
import type { Organization } from '../world/organization.js'

export interface ServerState {
  /** The account whose credentials the examples use. */
  readonly organization: Organization
  readonly at: Micros
  readonly settings: ReferenceServerSettings
  readonly origin: string
}

export interface Example {
  /** A command line. */
  readonly request: string
  /** The body, with only the first record of each list; left out where the world has no survey. */
  readonly answer?: unknown
}

export const exampleOf = (endpoint: Endpoint, state: ServerState): Example => {
  const { organization, at, settings, origin } = state
  const { id, token } = organization.identity
  const surveyId = exampleSurvey(state)
  const query = new URLSearchParams(endpoint.exampleQuery)
  const path = endpoint.path.replace('{SURVEY_ID}', surveyId ?? 'SURVEY_ID')
  const mark = endpoint.exampleQuery === '' ? '' : '?'
  const request = [
    'curl --globoff --compressed',
    `-H 'Authorization-ID: ${id}'`,
    `-H 'Authorization-Token: ${token}'`,
    `'${origin}${API_PREFIX}${path}${mark}${endpoint.exampleQuery}'`,
  ].join(' \\\n  ')
  if (path !== endpoint.path && surveyId === null) return { request }
  const example = { organization, at, surveyId: surveyId ?? '', query, pageSize: settings.pageSize }
  return { request, answer: shortened(endpoint.answerTo(example)) }
}

/** A survey in the field, else the latest; null in an empty world. */
const exampleSurvey = ({ organization, at }: ServerState): string | null => {
  const inField = organization.listSurveys(at, { statuses: ['fieldwork'], updatedSince: null }, 0, 1)
  const any = organization.listSurveys(at, { statuses: null, updatedSince: null }, 0, 1)
  const [survey] = [...inField.rows, ...any.rows]
  return survey === undefined ? null : String(survey.id)
}

const shortened = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body, (_, value: unknown) => (Array.isArray(value) ? value.slice(0, 1) : value)))

/** The settings of this server as text, by flag. */
export const settingTexts = (settings: ReferenceServerSettings): Readonly<Record<string, string>> => {
  const { rateLimit, ratePhase, startAt, clock, faults } = settings
  const texts = {
    ...settings,
    rateLimit: `${rateLimit.requests}/${rateLimit.perMs}ms`,
    ratePhase: `${ratePhase}ms`,
    startAt: formatUtc(startAt),
    clock: clock.label,
    faults: typeof faults === 'string' ? faults : faults === null ? 'none' : 'a list',
  }
  return Object.fromEntries(
    Object.entries(texts).map(([name, value]) => [`--${flagOf(name)}`, String(value)]),
  )
}
