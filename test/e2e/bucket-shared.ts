/** What `bucket.test.ts` and its full companion share. */
import { scriptedSurveys } from '../support/api/scripted-api.js'

export const surveys = (count = 3) => scriptedSurveys(count, {}, 1)
