/**
 * The parameters of the endpoints, by the rules of the API document ("Endpoints"). Each is declared once: it parses the
 * text of a request, and the OpenAPI document shows what it accepts. Its error says what to give.
 */
import { z } from 'zod'
import { surveyStatus } from '../resources/enumerations.js'
import { parseIsoTime } from '../time/iso-time.js'

const PAGE_MAX = 999_999_999
const GIVE_PAGE = `give a whole number from 1 to ${PAGE_MAX}`

export const page = z
  .preprocess(
    (given) => numberOf(/^[1-9]\d*$/, given),
    z.int({ error: GIVE_PAGE }).min(1).max(PAGE_MAX, { error: GIVE_PAGE }),
  )
  .default(1)
  .meta({ description: 'Number of the requested page; 1 when left out' })

export const status = surveyStatus.optional().meta({
  description: 'Filters on one survey status value',
})

export const statuses = z.array(surveyStatus).optional().meta({
  description:
    'Filters on one or several survey status values, in array form: `status[]=<status>&status[]=<status>`',
})

/** A number too large for any record becomes the largest safe integer, which no record has. */
const identifier = z
  .preprocess((given) => numberOf(/^\d+$/, given), z.int({ error: 'give a whole number' }).min(0))
  .meta({ format: 'int64' })

export const surveyId = identifier.meta({ description: 'Identifier of the survey' })

export const sampleSourceId = identifier.optional().meta({
  description: 'Identifier of a sample source of this survey; restricts the indicators to that source',
})

const GIVE_MOMENT = 'give an ISO 8601 date-time with an offset, like 2026-03-01T00:00:00Z'

/** An ISO 8601 date-time with an offset, as microseconds. */
export const momentParameter = (description: string) =>
  z
    .string({ error: GIVE_MOMENT })
    .meta({ format: 'date-time' })
    .transform((text, context) => {
      const at = parseIsoTime(text)
      if (at !== null) return at
      const hint = text.includes(' ') ? '; a plus sign is written %2B in a query' : ''
      context.addIssue({ code: 'custom', message: `${GIVE_MOMENT}${hint}` })
      return z.NEVER
    })
    .meta({ description })

const numberOf = (form: RegExp, given: unknown): unknown =>
  typeof given === 'string' && form.test(given) ? Math.min(Number(given), Number.MAX_SAFE_INTEGER) : given
