/**
 * A request that is answered with an error. The API document names 429 alone and leaves the body open ("Errors");
 * here every error has the body `{"error": "<one sentence>"}`.
 */
import { z } from 'zod'

export const errorBody = z
  .strictObject({
    error: z.string().min(1).meta({ description: 'One sentence: what is wrong and what to do' }),
  })
  .meta({ description: 'Every answer that is not 200' })

/** What every endpoint may answer besides 200, and when. */
export const REFUSALS = {
  400: 'A parameter that cannot mean anything: a bad status, date, page or id, or one that is given twice',
  401: 'Missing or wrong credentials',
  405: 'Another method than GET',
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
