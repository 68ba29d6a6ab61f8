/** The points of the curves are readings that know the number of complete interviews. A curve is level while nothing was observed. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readReport, thinnedDays } from '../../../../src/publish/report/read.js'
import { bigintCell } from '../../../../src/warehouse/connection/cells.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, survey } from '../../../support/warehouse/rows.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

/** In the afternoon, so that a reading belongs to the day on which it takes place. */
const at = (day: number) => minute(day * 1440 + 840)

/** Each point is `day:interviews`. A reading that does not know the number has none. */
const CASES = [
  { what: 'is empty without observations', observed: '3:', curve: '' },
  { what: 'does not fall to zero without a number', observed: '0:10 1: 2:16', curve: '0:10 1:10 2:16' },
  { what: 'has each day with an observation as it is', observed: '0:1 1:3 2:4', curve: '0:1 1:3 2:4' },
  { what: 'ends a day with its last observation', observed: '0:1 0:2 1:5', curve: '0:2 1:5' },
  { what: 'is level until the day before the next one', observed: '0:1 3:9', curve: '0:1 1:1 2:1 3:9' },
  { what: 'goes on to the last reading', observed: '0:1 2:', curve: '0:1 1:1 2:1' },
]

test('a curve', async () => {
  const { account, rows } = await testWarehouse()
  const surveys = CASES.map((_, place) => survey(place + 1))
  await list(account, surveys, at(0), 'full')
  const read = async (id: number, observed: string) => {
    for (const [place, point] of observed.split(' ').entries()) {
      const [day, interviews] = point.split(':')
      const interviews_count = interviews === '' ? null : Number(interviews)
      const moment = at(Number(day)) + BigInt(place)
      await account.commitBundles(
        [bundle(id, moment, [], progress(interviews_count ?? 0, { interviews_count }))],
        RUN,
      )
    }
  }
  for (const [place, { observed }] of CASES.entries()) await read(place + 1, observed)
  // 24 points before the last 28 days: one in 14.
  const LONG = CASES.length + 1
  await list(account, [survey(LONG)], at(0))
  await read(LONG, '0:1 14:5 70:20 364:80')

  const points = await rows(
    `SELECT survey_id, concat("day" - ${DAY_0}, ':', interviews_count) AS point
      FROM (${thinnedDays('main.freshness')}) ORDER BY survey_id, "day"`,
  )
  const curveOf = (id: number) => points.filter((row) => row.survey_id === id).map(({ point }) => point)
  for (const [place, { what, curve }] of CASES.entries())
    expect(curveOf(place + 1).join(' '), what).toBe(curve)
  const long = curveOf(LONG)
  expect(long.slice(0, 8)).toEqual(['0:1', '14:5', '28:5', '42:5', '56:5', '70:20', '84:20', '98:20'])
  expect(long.slice(-30, -26)).toEqual(['322:20', '336:20', '337:20', '338:20'])
  expect(long.slice(-2)).toEqual(['363:20', '364:80'])
})

test('a state of an older version is read, whatever tables and views it lacks', async () => {
  const { account, database, run } = await testWarehouse()
  await list(account, [survey(1)], at(0), 'full')
  await account.commitBundles([bundle(1, at(0), [], progress(5))], RUN)
  await run('DROP TABLE main.plan; DROP VIEW main.needs_action; DROP VIEW main.survey_pace')
  const { surveys } = await database.transaction(readReport)
  expect(surveys).toMatchObject([{ survey_id: 1, interviews_count: 5, due_on: null }])
})

test('a first load does not make closed surveys recent, so the report does not evaluate them', async () => {
  const { account, database } = await testWarehouse()
  const closed = { status: 'complete' }
  await list(account, [survey(1), survey(2), survey(3, closed)], at(0), 'full')
  await account.commitBundles(
    [1, 2, 3].map((id) => bundle(id, at(0), [], progress(5))),
    RUN,
  )
  await list(account, [survey(2, { ...closed, updated_at: at(1) })], at(1))
  await account.commitBundles([bundle(2, at(1), [], progress(6))], RUN)
  const id = z.object({ survey_id: bigintCell })
  let evaluated: unknown = null
  await database.transaction((sql) =>
    readReport({
      ...sql,
      rows: async (schema, text, parameters) => {
        if (text.includes('temp.report_surveys'))
          evaluated = await sql.rows(id, 'FROM temp.report_recent_surveys SELECT survey_id ORDER BY ALL')
        return await sql.rows(schema, text, parameters)
      },
    }),
  )
  expect(evaluated).toEqual([{ survey_id: 1 }, { survey_id: 2 }])
})

/** `minute(0)` is on this day since 1970. */
const DAY_0 = 20_513
