/** Which line of the plan decides what is planned for a survey or a source. */
import { range } from 'd3-array'
import { expect, test } from 'vitest'
import type { PlanLine } from '../../../../src/model/tables.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { storePlan, unknownLinesOf } from '../../../../src/warehouse/plan.js'
import { SOURCE_PLANS_STEPS, SURVEY_PLANS_STEP } from '../../../../src/warehouse/views/plan.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, list, planLine, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

/** Surveys 1 and 2 of project P, and others without one, each with the same sources. */
const withSources = async (names: readonly string[], count = 3) => {
  const warehouse = await emptyWarehouse()
  const surveys = range(1, count + 1).map((id) => survey(id, { project_id: id < 3 ? 'P' : null }))
  await list(warehouse.account, surveys, minute(0), 'full')
  const sources = names.map((name, place) => source(10 + place, { name }))
  await warehouse.account.commitBundles(
    surveys.map(({ id }) => bundle(id, minute(1), sources, progress(1))),
    RUN,
  )
  return warehouse
}

const lines = (...changes: readonly Partial<PlanLine>[]): readonly PlanLine[] =>
  changes.map((change, place) => planLine({ line: place + 2, ...change }))

test('of a survey, its own line decides before that of its project, value by value', async () => {
  const { database, expectRows } = await withSources([])
  await list(accountWarehouse(database, 'bolt'), [survey(1, { project_id: 'P' })], minute(0), 'full')
  const rows = lines(
    { survey_id: 1, due_on: '2026-03-12', incidence: 0.4, cpi: 5, currency: 'USD', owner: 'ann@example.com' },
    { survey_id: 2, loi_minutes: 9, quiet_until: '2026-03-01', note: 'not about the due date' },
    {
      ...{ project_id: 'P', due_on: '2026-04-30', note: 'board', starts_on: '2026-02-01', incidence: 0.3 },
      ...{ loi_minutes: 12.5, cpi: 4, currency: 'EUR', owner: 'ben@example.com' },
    },
    // Lines about sources say nothing about their survey.
    { project_id: 'P', source: '*', incidence: 0.9 },
    { survey_id: 1, source: '*', loi_minutes: 90 },
    { survey_id: 1, sample_source_id: 10, loi_minutes: 91 },
    { survey_id: 3, note: 'alone' },
  )
  expect(await storePlan(database, rows)).toEqual({ stored: 7, unknown: 3 })
  const [ann, ben] = ['ann@example.com', 'ben@example.com']
  await expectRows(
    `WITH ${SURVEY_PLANS_STEP} SELECT * REPLACE (due_on::VARCHAR AS due_on, starts_on::VARCHAR AS starts_on, quiet_until::VARCHAR AS quiet_until)
      FROM survey_plans ORDER BY account, survey_id`,
    [
      ['acme', 1, '2026-03-12', null, '2026-02-01', 0.4, 12.5, 5, 'USD', ann, null],
      ['acme', 2, '2026-04-30', 'board', '2026-02-01', 0.3, 9, 4, 'EUR', ben, '2026-03-01'],
      ['acme', 3, null, null, null, null, null, null, null, null, null],
      ['bolt', 1, null, null, null, null, null, null, null, null, null],
    ],
  )
})

test('of a source, its id decides before patterns of its name, then its survey, then its project', async () => {
  const { database, expectRows } = await withSources(['Panel North', 'Panel South'])
  const rows = lines(
    { project_id: 'P', incidence: 0.1, loi_minutes: 1, cpi: 1, currency: 'AAA' },
    { survey_id: 1, incidence: 0.2, cpi: 2, currency: 'BBB' },
    { source: 'Panel *', cpi: 3, currency: 'CCC', supplier: 'every' },
    { source: 'Panel N*', supplier: 'longer' },
    { project_id: 'P', source: '*', supplier: 'project' },
    { survey_id: 1, source: '*South', supplier: 'survey', incidence: 0.6 },
    { sample_source_id: 11, supplier: 'id' },
    { survey_id: 2, sample_source_id: 11, cpi: 8, currency: 'DDD' },
  )
  await storePlan(database, rows)
  const found = `WITH ${SURVEY_PLANS_STEP}, ${SOURCE_PLANS_STEPS} SELECT * EXCLUDE account FROM source_plans ORDER BY ALL`
  const expected = [
    [1, 10, 0.2, 1, 3, 'CCC', 'project'],
    [1, 11, 0.6, 1, 3, 'CCC', 'id'],
    [2, 10, 0.1, 1, 3, 'CCC', 'project'],
    [2, 11, 0.1, 1, 8, 'DDD', 'id'],
    [3, 10, null, null, 3, 'CCC', 'longer'],
    [3, 11, null, null, 3, 'CCC', 'id'],
  ]
  await expectRows(found, expected)
  await storePlan(database, [...rows].reverse())
  await expectRows(found, expected)
})

const NAMES_OF_PATTERNS: readonly (readonly [pattern: string, names: readonly string[]])[] = [
  ['Panel', ['Panel']],
  ['panel', []],
  ['Panel*', ['Panel', 'Panel 50%', 'Panel_A', 'PanelXA']],
  ['*', ['', 'Panel', 'Panel 50%', 'Panel_A', 'PanelXA', "O'Hara\\x", 'a*b']],
  ['*A', ['Panel_A', 'PanelXA']],
  ['*_*', ['Panel_A']],
  ['Panel_A', ['Panel_A']],
  ['%', []],
  ['*50%', ['Panel 50%']],
  ["O'*\\x", ["O'Hara\\x"]],
  ['[P]anel', []],
  ['Pane?', []],
  ['**el', ['Panel']],
]

test('a pattern is the name of a source, in which * is any text', async () => {
  const names = ['', 'Panel', 'Panel 50%', 'Panel_A', 'PanelXA', "O'Hara\\x", 'a*b']
  // A survey for each pattern.
  const { database, rows } = await withSources(names, NAMES_OF_PATTERNS.length)
  const plan = NAMES_OF_PATTERNS.map(([source], place) => ({ survey_id: place + 1, source, supplier: 'S' }))
  await storePlan(database, lines(...plan))
  const found = await rows(`WITH ${SURVEY_PLANS_STEP}, ${SOURCE_PLANS_STEPS}
    SELECT p.survey_id, s.name FROM source_plans p
    JOIN main.sample_sources s ON s.id = p.sample_source_id AND s.survey_id = p.survey_id
    WHERE p.supplier = 'S' ORDER BY p.survey_id, s.id`)
  const matched = NAMES_OF_PATTERNS.map(([pattern], place) => [
    pattern,
    found.filter(({ survey_id }) => survey_id === place + 1).map(({ name }) => name),
  ])
  expect(matched).toEqual(NAMES_OF_PATTERNS)
})

test('of equally specific patterns, the earlier line decides', async () => {
  const { database, expectRows } = await withSources(['ab'])
  await storePlan(database, [
    planLine({ source: '*b', supplier: 'second', line: 3 }),
    planLine({ source: 'a*', supplier: 'first', line: 2 }),
  ])
  await expectRows(
    `WITH ${SURVEY_PLANS_STEP}, ${SOURCE_PLANS_STEPS} SELECT DISTINCT supplier FROM source_plans`,
    [['first']],
  )
})

test('lines about what the API does not show are known by their numbers', async () => {
  const { database, account } = await withSources(['Panel', 'Other'])
  await account.commitBundles([{ kind: 'gone', surveyId: 3, at: minute(2) }], RUN)
  await account.commitBundles([bundle(2, minute(3), [source(11, { name: 'Other' })], progress(2))], RUN)
  const rows = lines(
    ...[{ survey_id: 1 }, { survey_id: 3 }, { survey_id: 99 }, { account: 'bolt', survey_id: 1 }],
    ...[{ project_id: 'P' }, { project_id: 'p' }],
    ...[{ sample_source_id: 11 }, { sample_source_id: 12 }, { survey_id: 2, sample_source_id: 11 }],
    ...[
      { survey_id: 2, sample_source_id: 10 },
      { survey_id: 3, sample_source_id: 11 },
    ],
    ...[
      { source: 'Pan*' },
      { source: 'pan*' },
      { survey_id: 2, source: 'Pan*' },
      { survey_id: 1, source: 'Pan*' },
    ],
    ...[
      { project_id: 'P', source: 'O*' },
      { project_id: 'Q', source: 'O*' },
    ],
  )
  const unknown = await database.exclusively((sql) => unknownLinesOf(sql, rows))
  expect([...unknown].sort((a, b) => a - b)).toEqual([3, 4, 5, 7, 9, 11, 12, 14, 15, 18])
  expect(await storePlan(database, rows)).toEqual({ stored: rows.length, unknown: unknown.size })
  expect(await database.exclusively((sql) => unknownLinesOf(sql, []))).toEqual(new Set())
})
