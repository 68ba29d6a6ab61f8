/** What `survey-source-hostile.test.ts` and its full companion share. */
import type { HttpClient } from '../../../src/http/client.js'
import { createSurveySource } from '../../../src/survey-api/survey-source.js'
import { unlimitedAllowance } from '../../support/api/allowance.js'
import { testClock } from '../../support/time/test-clock.js'

export const context = { signal: new AbortController().signal, allowance: unlimitedAllowance }

export const sourceOf = (text: string) => {
  const http: HttpClient = {
    getJson: () => Promise.resolve({ body: JSON.parse(text), text, dateMs: null }),
    usage: () => ({
      requests: 1,
      retries: 0,
      rateLimited: 0,
      slotsInUse: 1,
      pausedUntilMs: null,
      slotFreeAtMs: null,
      retryAtMs: null,
      unanswered: null,
      paceIntervalMs: null,
      rate: { requests: 60, perMs: 60_000 },
    }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  return createSurveySource(http, testClock(), 2)
}

export const listOf = (rows: string, count: number, more = ''): string =>
  `{"surveys":[${rows}],"pagination":{"current_page":1,"next_page":null,"prev_page":null,"total_pages":1,"total_count":${count}}${more}}`

export const names = (count: number): string =>
  Array.from({ length: count }, (_, at) => `"n${at}":0`).join(',')

export const list = (text: string) => sourceOf(text).listSurveys({ updatedSince: null, page: 1 }, context)
