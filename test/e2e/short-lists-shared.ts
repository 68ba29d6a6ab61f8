/** What `short-lists.test.ts` and its full companion share. */
import { bodyOf, type Hook, type ScriptedApi, sendJson } from '../support/api/scripted-api.js'

/** The list shows only the surveys up to `last`, on all of its pages. The addresses of the others answer with `status`. */
export const shortList =
  (api: ScriptedApi, last: number, status: 200 | 404 = 200): Hook =>
  (arrival, response) => {
    const surveys = api.surveys.filter(({ survey }) => survey.id <= last)
    const isShort = arrival.path === '/surveys' || status === 404
    const body = bodyOf(isShort ? { ...api, surveys } : api, arrival)
    sendJson(api, response, body === null ? 404 : 200, body ?? {})
    return true
  }
