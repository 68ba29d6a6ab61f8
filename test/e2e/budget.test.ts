/** A run keeps to its budget. With any budget, enough runs read everything. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'

test('--max-requests 1 is exceeded by as much as the how-to page says', async (context) => {
  const { api, sync } = await openTrial(context, [scriptedSurvey(1, {}, 4), scriptedSurvey(2, {}, 4)])
  const { code, run } = await sync(['--max-requests', '1'])
  expect(code).toBe(3)
  expect(run).toMatchObject({ surveys_refreshed: 0, left_over: 2 })
  const page = await readFile(new URL('../../docs/how-to/limit-a-run.md', import.meta.url), 'utf8')
  const [, documented] = /`--max-requests 1`\s+comes to (\d+) requests/.exec(page) ?? []
  expect([run.requests, api.arrivals.length]).toEqual([Number(documented), Number(documented)])
})
