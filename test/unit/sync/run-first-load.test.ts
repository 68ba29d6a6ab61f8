/** A first load that is larger than one night's budget: each night continues it, the newest surveys first, until it ends. */
import { expect, test } from 'vitest'
import { minusMs } from '../../../src/model/instant.js'
import type { RunReport } from '../../../src/model/run.js'
import { runAccount } from '../../../src/sync/run.js'
import { memorySource } from '../../support/api/memory-source.js'
import { minute } from '../../support/time/instants.js'
import { testClock } from '../../support/time/test-clock.js'
import { survey, withOneSource } from '../../support/warehouse/rows.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'

const DAY_MS = 86_400_000
const SURVEYS = 24
const REQUESTS_A_NIGHT = 20
const NIGHTS_MAX = 20

test('reads the newest surveys of each weight first, each survey once, and then completes', async () => {
  const warehouse = await testWarehouse()
  const clock = testClock()
  const ids = Array.from({ length: SURVEYS }, (_, place) => SURVEYS - place)
  const api = memorySource(withOneSource(ids))
  api.pageSize = 5
  const longAgo = (id: number) => minusMs(minute(0), (400 - id) * DAY_MS)
  const inField = (id: number) => id % 8 === 3
  api.listed.push(
    ...ids.map((id) =>
      survey(id, {
        status: inField(id) ? 'fieldwork' : 'complete',
        created_at: longAgo(id),
        updated_at: longAgo(id),
      }),
    ),
  )
  const reports: RunReport[] = []
  const firstRead: number[] = []
  while (reports.at(-1)?.leftOver !== 0 && reports.length < NIGHTS_MAX) {
    api.asked.length = 0
    reports.push(
      await runAccount({
        ...runDependencies(warehouse, api, {
          budget: { requests_max: REQUESTS_A_NIGHT, duration_max: null },
        }),
        clock,
        runId: `night-${reports.length}`,
      }),
    )
    // A list of sources is read once a week, and the load takes less than a week.
    firstRead.push(
      ...api.asked.flatMap((request) => /^sources (\d+) page 1$/.exec(request)?.[1] ?? []).map(Number),
    )
    clock.advance(DAY_MS)
    api.now = minute((reports.length * DAY_MS) / 60_000)
  }
  expect(reports.map(({ status }) => status)).toEqual([...reports.slice(1).map(() => 'partial'), 'complete'])
  expect(reports.length).toBeLessThan(7)
  for (const { requests } of reports) expect(requests).toBeLessThanOrEqual(REQUESTS_A_NIGHT)
  expect(firstRead.toSorted((one, other) => other - one)).toEqual(ids)
  for (const isOfWeight of [inField, (id: number) => !inField(id)]) {
    expect(firstRead.filter(isOfWeight)).toEqual(ids.filter(isOfWeight))
  }
  // Surveys in field are read in the second night at the latest, however old they are.
  expect(firstRead.slice(0, 8)).toEqual(expect.arrayContaining(ids.filter(inField)))
})
