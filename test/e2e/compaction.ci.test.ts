/** A run compacts old progress history only where the settings say so, and reports it. */
import { expect, test } from 'vitest'
import { accountWarehouse } from '../../src/warehouse/account-warehouse.js'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { minute } from '../support/time/instants.js'
import { bundle, progress, RUN, source } from '../support/warehouse/rows.js'
import { testWarehouse } from '../support/warehouse/warehouse.js'

test('a run that removes old observations counts them in its report, its log and _sync.runs', async (context) => {
  const { database, directory: warehouse } = await testWarehouse()
  const account = accountWarehouse(database, 'default')
  for (const complete of [1, 2, 3])
    await account.commitBundles(
      [bundle(7, minute((12 + complete) * 60), [source(70)], progress(complete))],
      RUN,
    )
  await database.close()
  const { api, sync, settings, rows } = await openTrial(context, [scriptedSurvey(1)], {
    directory: warehouse,
  })
  const observations = async () => {
    const found = await rows(
      'SELECT interviews_count FROM survey_progress_history WHERE survey_id = 7 ORDER BY observed_at',
    )
    return found.map(({ interviews_count }) => interviews_count)
  }

  api.now = new Date('2026-03-04T00:00:00Z')
  const keeping = await sync()
  expect(keeping).toMatchObject({ code: 0, run: { history_rows_compacted: 0 } })
  expect(await observations()).toEqual([1, 2, 3])

  api.now = new Date('2026-03-05T00:00:00Z')
  const args = await settings({ history: { progress_keep_all_for: '3d' } })
  const compacting = await sync(args)
  expect(compacting).toMatchObject({ code: 0, run: { history_rows_compacted: 4 } })
  expect(compacting.stderr).toMatch(/"rows":4,"before":"2026-03-02T00:00:00Z".*compacted/)
  expect(await observations()).toEqual([3])
  expect(
    await rows(
      'SELECT history_rows_compacted, rows_removed FROM _sync.runs JOIN _sync.compactions ON last_run_id = run_id',
    ),
  ).toEqual([{ history_rows_compacted: 4, rows_removed: 4 }])
})
