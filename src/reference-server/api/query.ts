/**
 * Query parameters by the rules of the API document ("Endpoints"). A parameter that cannot mean anything is
 * refused with 400 rather than ignored: a client that asks wrongly should not get an answer to another question.
 * Parameters that the document does not name are ignored.
 */
import { type Micros, parseIsoTime } from '../time/iso-time.js'
import { SURVEY_STATUSES, type SurveyStatus } from '../world/enumerations.js'
import { Refusal } from './refusal.js'

const BAD_REQUEST = 400

/** `page`: a whole number from 1; 1 when left out. */
export const readPage = (query: URLSearchParams): number => {
  const text = readOne(query, 'page')
  if (text === null) return 1
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new Refusal(BAD_REQUEST, `page is ${quote(text)}: give a whole number from 1 to 999999999`)
}

/** `status=<status>`, or `status[]=<status>` as often as needed; null when left out. */
export const readStatuses = (query: URLSearchParams): readonly SurveyStatus[] | null => {
  const one = readOne(query, 'status')
  const texts = [...(one === null ? [] : [one]), ...query.getAll('status[]')]
  if (texts.length === 0) return null
  return texts.map((text) => {
    const status = SURVEY_STATUSES.find((candidate) => candidate === text)
    if (status !== undefined) return status
    throw new Refusal(BAD_REQUEST, `status is ${quote(text)}: give one of ${SURVEY_STATUSES.join(', ')}`)
  })
}

/** An ISO 8601 date-time with an offset; null when left out. */
export const readTime = (query: URLSearchParams, name: string): Micros | null => {
  const text = readOne(query, name)
  if (text === null) return null
  const at = parseIsoTime(text)
  if (at !== null) return at
  const hint = text.includes(' ') ? '; a plus sign is written %2B in a query' : ''
  throw new Refusal(
    BAD_REQUEST,
    `${name} is ${quote(text)}: give an ISO 8601 date-time with an offset, like 2026-03-01T00:00:00Z${hint}`,
  )
}

/** A whole number; null when left out. */
export const readId = (query: URLSearchParams, name: string): number | null => {
  const text = readOne(query, name)
  if (text === null) return null
  const id = parseId(text)
  if (id !== null) return id
  throw new Refusal(BAD_REQUEST, `${name} is ${quote(text)}: give a whole number`)
}

/** A whole number as it stands in a path or a query; null if it is none. */
export const parseId = (text: string): number | null => (/^\d{1,15}$/.test(text) ? Number(text) : null)

const readOne = (query: URLSearchParams, name: string): string | null => {
  const texts = query.getAll(name)
  if (texts.length <= 1) return texts[0] ?? null
  const hint = name === 'status' ? '; several statuses are given as status[]' : ''
  throw new Refusal(BAD_REQUEST, `${name} is given ${texts.length} times: give it once${hint}`)
}

const quote = (text: string): string => JSON.stringify(text.slice(0, 100))
