/** The answers of a survey that is read in parts: what a kill may lose of them. */
import { expect, test } from 'vitest'
import { SurveyParts } from '../../../src/sync/parts.js'
import { gate } from '../../support/command/trial.js'
import { minute } from '../../support/time/instants.js'
import { RUN } from '../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const answer = { text: '{}', dateMs: 0 }

test('an answer that arrives while a hundred are written waits until they are', async () => {
  const { account } = await emptyWarehouse()
  const mayWrite = gate<undefined>()
  const slow: typeof account = {
    ...account,
    keepAnswers: async (...answers) => {
      await mayWrite.opened
      await account.keepAnswers(...answers)
    },
  }
  const task = { surveyId: 1, reserve: 500 }
  const parts = await SurveyParts.begin(slow, task, { runId: RUN, at: minute(0) })
  for (let request = 1; request < 100; request += 1) await parts.add(`/${request}`, answer)
  const last = parts.add('/100', answer)
  const keptThen = parts.add('/101', answer).then(() => account.keptAnswers(1))
  mayWrite.open(undefined)
  expect((await keptThen).size).toBe(100)
  await last
  await parts.stop(minute(1))
  expect((await account.keptAnswers(1)).size).toBe(101)
})
