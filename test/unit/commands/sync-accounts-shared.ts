/** What both test files of sync-accounts use. */
import { scriptedSurveys, sendJson } from '../../support/api/scripted-api.js'
import type { AccountsTrial } from './accounts-trial.js'

export const surveys = (count: number, title = 'a survey') => scriptedSurveys(count, { title }, 1)

export const answerAll = (trial: AccountsTrial, account: string, status: number): void => {
  const api = trial.api(account)
  api.hook = (_, response) => {
    sendJson(api, response, status, {})
    return true
  }
}
