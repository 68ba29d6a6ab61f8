/** Requests to copy, as the first account, and what this world answers to them at this moment. */
import type { Endpoint } from '../api/endpoint.js'
import { API_PREFIX } from '../api/routes.js'
import type { Micros } from '../time/iso-time.js'
import type { Organization } from '../world/organization.js'

export interface Example {
  /** A command line. */
  readonly request: string
  /** The body, with the first record of each list alone; undefined where the world has no survey to ask about. */
  readonly answer?: unknown
}

export interface ExampleWorld {
  readonly organization: Organization
  readonly at: Micros
  readonly pageSize: number
  readonly origin: string
}

export const exampleOf = (endpoint: Endpoint, world: ExampleWorld): Example => {
  const { organization, at, pageSize, origin } = world
  const { id, token } = organization.identity
  const surveyId = exampleSurvey(world)
  const query = new URLSearchParams(endpoint.exampleQuery)
  const path = endpoint.path.replace('{SURVEY_ID}', surveyId ?? 'SURVEY_ID')
  const mark = endpoint.exampleQuery === '' ? '' : '?'
  const needsSurvey = path !== endpoint.path
  return {
    request: [
      'curl --globoff --compressed',
      `-H 'Authorization-ID: ${id}'`,
      `-H 'Authorization-Token: ${token}'`,
      `'${origin}${API_PREFIX}${path}${mark}${endpoint.exampleQuery}'`,
    ].join(' \\\n  '),
    ...(needsSurvey && surveyId === null
      ? {}
      : {
          answer: shortened(endpoint.tell({ organization, at, surveyId: surveyId ?? '', query, pageSize })),
        }),
  }
}

/** A survey in the field, else the latest; null in an empty world. */
const exampleSurvey = ({ organization, at }: ExampleWorld): string | null => {
  const inField = organization.listSurveys(at, { statuses: ['fieldwork'], updatedSince: null }, 0, 1)
  const any = organization.listSurveys(at, { statuses: null, updatedSince: null }, 0, 1)
  const [survey] = [...inField.rows, ...any.rows]
  return survey === undefined ? null : String(survey.id)
}

const shortened = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body, (_, value: unknown) => (Array.isArray(value) ? value.slice(0, 1) : value)))
