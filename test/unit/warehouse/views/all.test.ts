/** The views that people start from. */
import { test } from 'vitest'
import { minute } from '../../../support/time/instants.js'
import { bundle, failedTask, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

test('survey_overview has one row per survey, with its progress, the number of its listed sources, and freshness', async () => {
  const { account, expectRows } = await testWarehouse()
  await list(account, [survey(1), survey(2), survey(3)], minute(0), 'full')
  await account.commitBundles([bundle(1, minute(1), [source(11), source(12), source(13)], progress(7))], RUN)
  await account.commitBundles(
    [
      bundle(1, minute(2), [source(11), source(12)], progress(8)),
      { kind: 'gone', surveyId: 2, at: minute(2) },
      failedTask(3, minute(2)),
    ],
    RUN,
  )
  await expectRows(
    `SELECT id, interviews_count, complete_individuals, sample_sources_count, listed_at, refreshed_at,
      last_error, _missing_since FROM survey_overview ORDER BY id`,
    [
      [1, 8, 8, 2, '2026-03-01T00:00:00Z', '2026-03-01T00:02:00Z', null, null],
      [2, null, null, 0, '2026-03-01T00:00:00Z', '2026-03-01T00:02:00Z', null, '2026-03-01T00:02:00Z'],
      [3, null, null, 0, '2026-03-01T00:00:00Z', null, 'answered 500', null],
    ],
  )
})

test('surveys_today has the surveys that the API shows, and source_overview their sources', async () => {
  const { account, expectRows } = await testWarehouse()
  await list(account, [survey(1, { project_id: 'P' }), survey(2), survey(3)], minute(0), 'full')
  const whole = progress(260, { completion_rate: 1.3 })
  for (const at of [minute(1), minute(1441), minute(2881)])
    await account.commitBundles(
      [bundle(1, at, [source(11), source(12)], whole, { sourceProgressRead: 'all' })],
      RUN,
    )
  await account.commitBundles([{ kind: 'gone', surveyId: 2, at: minute(2882) }], RUN)
  const first = { account: 'acme', survey_id: 1, title: 'Survey 1' }
  const pace = { per_day: 0, newest_gain: 0, newest_gain_days: 1 }
  await expectRows(
    'SELECT * REPLACE (expected_on::VARCHAR AS expected_on) FROM surveys_today ORDER BY survey_id',
    [
      {
        ...{ ...first, project_id: 'P', status: 'fieldwork', interviews_count: 260, sample_size: 200 },
        ...{ completion_rate: 1.3, ...pace, expected_on: '2026-03-02' },
        needs_action: 'over target by 60, still open',
        refreshed_at: '2026-03-03T00:01:00Z',
      },
      {
        ...{ account: 'acme', survey_id: 3, title: 'Survey 3', project_id: null, status: 'fieldwork' },
        ...{ interviews_count: null, sample_size: null, completion_rate: null, per_day: null },
        ...{
          newest_gain: null,
          newest_gain_days: null,
          expected_on: null,
          needs_action: 'not reached by the last runs',
          refreshed_at: null,
        },
      },
    ],
  )
  await expectRows(
    `SELECT account, survey_id, title, status, sample_source_id, name, country_code, sample_size, interviews_count, complete_individuals, per_day, behind
      FROM source_overview ORDER BY sample_source_id`,
    [11, 12].map((id) => [...['acme', 1, 'Survey 1', 'fieldwork', id, `S${id}`, 'FR', 100, 260, 260, 0, 0]]),
  )
})

test('interview_status_counts has one row per status of the current progress, also for statuses that only _extra contains', async () => {
  const { account, expectRows } = await testWarehouse()
  await account.commitBundles(
    [
      bundle(
        1,
        minute(1),
        [source(11), source(12)],
        progress(5, {
          speeder_individuals: 0,
          speeder_percentage: 0,
          _extra: JSON.stringify({
            interview_count_by_status: {
              abducted: { individuals: 3, percentage: 37.5 },
              complete: { weighted: 4.5 },
              "it's odd": { individuals: 'many', percentage: null },
              vanished: null,
            },
            mood: 'good',
          }),
        }),
        {
          sourceProgress: [
            { sampleSourceId: 11, progress: progress(5, { _extra: '{"mood":"bad"}' }), at: minute(1) },
            { sampleSourceId: 12, progress: progress(0), at: minute(1) },
          ],
        },
      ),
    ],
    RUN,
  )
  await account.commitBundles([bundle(1, minute(2), [source(11)], null, { sourceProgressRead: 'none' })], RUN)
  await expectRows(
    `SELECT survey_id, sample_source_id, status, individuals, percentage, _observed_at
      FROM interview_status_counts ORDER BY sample_source_id NULLS FIRST, status`,
    [
      [null, 'abducted', 3, 37.5],
      [null, 'complete', 5, 100],
      [null, "it's odd", null, null],
      [null, 'speeder', 0, 0],
      [null, 'vanished', null, null],
      [11, 'complete', 5, 100],
    ].map(([sample_source_id, status, individuals, percentage]) => ({
      survey_id: 1,
      sample_source_id,
      status,
      individuals,
      percentage,
      _observed_at: '2026-03-01T00:01:00Z',
    })),
  )
})

test('survey_status_changes has a row for each change of the status, not for each change of the survey', async () => {
  const { account, expectRows } = await testWarehouse()
  const versions = [
    { status: 'draft' },
    { status: 'draft', title: 'Renamed' },
    { status: 'fieldwork' },
    { status: 'complete' },
    { status: 'fieldwork' },
  ]
  for (const [at, version] of versions.entries())
    await list(account, [survey(1, version), survey(2, { status: 'user_demo' })], minute(at))
  await expectRows(
    'SELECT * FROM survey_status_changes ORDER BY survey_id, observed_at',
    [
      [1, null, 'draft', 0],
      [1, 'draft', 'fieldwork', 2],
      [1, 'fieldwork', 'complete', 3],
      [1, 'complete', 'fieldwork', 4],
      [2, null, 'user_demo', 0],
    ].map(([survey_id, from_status, to_status, at]) => ({
      account: 'acme',
      survey_id,
      title: `Survey ${survey_id}`,
      from_status,
      to_status,
      observed_at: `2026-03-01T00:0${at}:00Z`,
    })),
  )
})
