/**
 * A request that is answered with an error. The API document names only 429 and leaves the body open ("Errors"). Here
 * every error has the body `{"error": "<one sentence>"}`.
 */
import { z } from 'zod'

export const errorBody = z
  .strictObject({
    error: z.string().min(1).meta({ description: 'One sentence: what is wrong and what to do' }),
  })
  .meta({ description: 'Every answer that is not 200' })

/** The statuses besides 200 that every endpoint may answer, each with its reason. */
export const REFUSALS = {
  400: 'An invalid parameter: a bad status, date, page or id, or one that is given twice',
  401: 'Missing or wrong credentials',
  405: 'A method other than GET',
  429: 'The rate cap is exceeded. Retry with exponential backoff or added delays',
} as const

export class Refusal extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.headers = headers
  }
}
