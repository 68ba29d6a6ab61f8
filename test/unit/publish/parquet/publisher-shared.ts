/** What both test files of publisher use. */
import { storeForecasts } from '../../../../src/warehouse/history/forecasts.js'
import { storePlan } from '../../../../src/warehouse/plan.js'
import { instantOf, minute } from '../../../support/time/instants.js'
import { publishedCopies } from '../../../support/warehouse/parquet.js'
import {
  bundle,
  daysRead,
  list,
  planLine,
  progress,
  reconstructed,
  runReport,
  source,
  survey,
} from '../../../support/warehouse/rows.js'

export const JANUARY = { created_at: instantOf('2026-01-31T23:59:59.999999Z') }

export const FEBRUARY = { created_at: instantOf('2026-02-01T00:00:00Z') }

/** Two surveys of January, one of February, with sources, progress and due dates; published. Two due dates are of no known survey. */
export const publishedOnce = publishedCopies(async ({ account, database }) => {
  await account.startRun({ runId: 'run-1', command: 'sync', version: '1.2.3', startedAt: minute(0) })
  await list(account, [survey(1, JANUARY), survey(2, JANUARY), survey(3, FEBRUARY)], minute(0), 'full')
  await account.commitBundles(
    [1, 2, 3].map((id) =>
      bundle(id, minute(1), [source(id * 10), source(id * 10 + 1)], progress(id), {
        days: daysRead(['2026-02-28', '2026-03-01'], [null, id * 10], progress(1), minute(1)),
      }),
    ),
    'run-1',
  )
  await account.commitReconstructed(
    [1, 2, 3].map((id) => reconstructed(id, [1, 2], progress(1), minute(1))),
    'run-1',
  )
  const due = { due_on: '2026-03-09', note: 'Ünïcode; "quoted"' }
  const ids = [1, 2, 3, 9].map((survey_id) => planLine({ ...due, survey_id, line: 1 + survey_id }))
  await storeForecasts(database)
  await storePlan(database, [...ids, planLine({ project_id: 'wave 3', source: 'S*', cpi: 4.5, line: 11 })])
  await account.finishRun(runReport())
})

export const FEBRUARY_FILE = 'account=acme/created_month=2026-02/data.parquet'
