/** The table declarations match the API document, whose fields are repeated here. */
import { expect, test } from 'vitest'
import { ALL_TABLES } from '../../../src/model/sync-tables.js'
import { freshness, sampleSources, surveyProgress, surveys } from '../../../src/model/tables.js'

const namesOf = (table: (typeof ALL_TABLES)[number]) =>
  table.columns.map(({ name }) => name).filter((name) => !name.startsWith('_'))

test('the tables have the fields of the API document, with its names in its order', () => {
  expect(namesOf(surveys)).toEqual(
    `account id title created_at updated_at hashid project_id status owner_organization_id transition_style
      respondent_questions_count respondent_iterations_count`.split(/\s+/),
  )
  expect(namesOf(sampleSources)).toEqual(
    `account survey_id id provider sample_size country_code description name hashid panelist_id_required
      created_at updated_at`.split(/\s+/),
  )
  const statuses =
    `complete incomplete quota_full screen_out above_target manual_action pending_analysis speeder
    straightliner failed_quality_check inappropriate_language`.split(/\s+/)
  expect(namesOf(surveyProgress)).toEqual([
    ...`account survey_id sample_size interviews_count completion_rate questionnaire_incidence_rate
      target_incidence_rate incidence_rate drop_out_rate length_of_interview`.split(/\s+/),
    ...statuses.flatMap((status) => [`${status}_individuals`, `${status}_percentage`]),
  ])
})

/** Key columns in which null has a meaning, such as a drift event without a value, and the survey as a whole instead of a source. */
const MAY_BE_NULL = [
  'drift_events.value',
  'survey_progress_by_day.sample_source_id',
  ...['survey_id', 'project_id', 'sample_source_id', 'source'].map((name) => `plan.${name}`),
]

test.each(ALL_TABLES.map((table) => [`${table.schema}.${table.name}`, table] as const))(
  '%s has unique columns with comments, and a key of its own columns without nulls',
  (_, table) => {
    const names = table.columns.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect([table.comment, ...table.columns.map(({ comment }) => comment)]).not.toContain('')
    for (const column of table.columns.filter(({ name }) => table.key.includes(name)))
      expect(column.nullable && !MAY_BE_NULL.includes(`${table.name}.${column.name}`), column.name).toBe(
        false,
      )
    expect(names).toEqual(expect.arrayContaining([...table.key]))
  },
)

test('the first column and first key column of every table for analysts is the account', () => {
  for (const table of ALL_TABLES.filter(({ schema }) => schema === 'main')) {
    expect(table.columns[0]).toMatchObject({ name: 'account', type: 'VARCHAR', nullable: false })
    expect(table.key[0]).toBe('account')
  }
  expect(freshness.key).toEqual(['account', 'survey_id'])
})
