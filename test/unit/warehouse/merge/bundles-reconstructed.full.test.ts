/** Whatever the order of readings, a row of a day before the first reading takes the place of no observed row. */
import { expect, test } from 'vitest'
import { windowsBefore } from '../../../../src/rules/windows.js'
import { createRandom } from '../../../simulation/random.js'
import { hourOf, minute } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

/** One survey each, read on some of these nights, its earlier days in some order and number. */
const STORIES = 10_000
const NIGHTS = [1, 2, 3, 5, 9]
/** No observed row has so many interviews. */
const RECONSTRUCTED = 1_000_000

const OBSERVED = ['survey_progress', 'survey_progress_history', 'freshness']
const inPlace = (table: string) => `SELECT rowid AS place, * FROM ${table}`

test(`in ${STORIES} stories no observed row is overwritten`, async () => {
  const { account, run, rows, expectRows } = await emptyWarehouse()
  const { whole, chance } = createRandom(1)
  const ids = Array.from({ length: STORIES }, (_, place) => place + 1)
  await list(
    account,
    ids.map((id) => survey(id, { created_at: minute(-whole(0, 60) * 1440) })),
    hourOf(1, 1),
    'full',
  )
  await run(
    'CREATE TEMP TABLE earlier AS SELECT survey_id, observed_at, complete_individuals FROM survey_progress_history',
  )
  for (const night of NIGHTS) {
    const read = ids.filter(() => chance(0.6))
    await account.commitBundles(
      read.map((id) => bundle(id, hourOf(night, 2), [source(id)], progress(whole(0, 500)))),
      RUN,
    )
    for (const table of OBSERVED)
      await run(`CREATE OR REPLACE TEMP TABLE before_${table} AS ${inPlace(table)}`)
    const due = (await account.firstReadings(hourOf(night, 3))).flatMap((one) => {
      const windows = windowsBefore(one, hourOf(night, 3))
      const some = windows.slice(0, whole(0, windows.length))
      return chance(0.7) ? [{ surveyId: one.surveyId, windows: some }] : []
    })
    await account.commitReconstructed(
      due.map(({ surveyId, windows }) => {
        const at = hourOf(night, 4)
        const rows = windows.map((window) => ({ window, progress: progress(RECONSTRUCTED), at }))
        return { surveyId, at, rows, rejections: [], drift: [] }
      }),
      RUN,
    )
    for (const table of OBSERVED)
      await expectRows(
        `(FROM before_${table} EXCEPT ALL ${inPlace(table)}) UNION ALL (${inPlace(table)} EXCEPT ALL FROM before_${table})`,
        [],
      )
    const OF_NIGHT = 'SELECT survey_id, observed_at, complete_individuals FROM survey_progress_history'
    await expectRows(`FROM earlier EXCEPT ALL ${OF_NIGHT}`, [])
    await run(`CREATE OR REPLACE TEMP TABLE earlier AS ${OF_NIGHT}`)
  }
  await expectRows(`FROM survey_progress_history WHERE complete_individuals >= ${RECONSTRUCTED}`, [])
  await expectRows(
    `SELECT r.survey_id FROM survey_progress_reconstructed r JOIN survey_progress_history h USING (survey_id)
      GROUP BY ALL HAVING max(r.as_of) >= min(h.observed_at) OR count(DISTINCT r.as_of) * count(DISTINCT h.observed_at) < count(*)`,
    [],
  )
  const [{ surveys, most } = {}] = await rows(
    'SELECT count(DISTINCT survey_id)::INT AS surveys, max(n)::INT AS most FROM (SELECT survey_id, count(*) AS n FROM survey_progress_reconstructed GROUP BY ALL)',
  )
  expect(Number(surveys)).toBeGreaterThan(STORIES / 2)
  expect(Number(most)).toBe(10)
})
