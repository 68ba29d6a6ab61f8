/** Every rule of the local half is broken by a statement of its own, and holds before it. */

import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ALL_RULES, checkTables } from '../../../../src/verify/local/check-tables.js'
import { atEndOfFile } from '../../../support/files/temporary.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, list, progress, runReport, source, survey } from '../../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

let warehouse: TestWarehouse

/** Two surveys with a source each. The first has changed once, in every table. */
beforeAll(async () => {
  warehouse = await testWarehouse(undefined, atEndOfFile)
  const { account } = warehouse
  await account.startRun({ runId: 'run-1', command: 'sync', version: '1.2.3', startedAt: minute(0) })
  await list(account, [survey(1), survey(2)], minute(0), 'full')
  await account.commitBundles(
    [1, 2].map((id) => bundle(id, minute(1), [source(10 * id)], progress(5))),
    'run-1',
  )
  await list(account, [survey(1, { title: 'New', updated_at: minute(100) })], minute(101))
  await account.commitBundles([bundle(1, minute(102), [source(10, { name: 'New' })], progress(7))], 'run-1')
  await account.finishRun(runReport())
})

const check = () => {
  const { database } = warehouse
  return checkTables({ state: database.file, database, signal: NEVER })
}

test('a sound warehouse breaks no rule but that of a row that is broken, which is named', async () => {
  await warehouse.run('UPDATE _sync.runs SET exit_code = 3')
  const problem = { rule: 'exit_code_follows_status', where: '_sync.runs', count: 1 }
  expect(await check()).toMatchObject({ checks: ALL_RULES.length, problems: [problem] })
  await warehouse.run('UPDATE _sync.runs SET exit_code = 0')
})

test('a rule is named once for each table', () => {
  const names = ALL_RULES.map(({ rule, where, says }) => `${rule} ${where} ${says}`)
  expect(new Set(names).size).toBe(names.length)
})

const ANY_ROW = z.object({ example: z.string() })

const BEFORE = "TIMESTAMPTZ '1999-01-01 00:00:00Z'"
const AFTER = "TIMESTAMPTZ '2999-01-01 00:00:00Z'"

/** By rule and table: what breaks it. */
const BREAKS: Readonly<Record<string, string>> = {
  'keys_are_unique surveys': 'INSERT INTO surveys SELECT * FROM surveys WHERE id = 1',
  'keys_are_unique interview_status_counts': 'INSERT INTO survey_progress SELECT * FROM survey_progress',
  'rows_have_parents sample_sources': 'DELETE FROM surveys WHERE id = 1',
  'rows_have_parents sample_source_progress': 'DELETE FROM sample_sources WHERE survey_id = 1',
  'rows_have_parents survey_progress_history': 'DELETE FROM surveys WHERE id = 2',
  'versions_end_after_they_begin surveys_history': `UPDATE surveys_history SET valid_to = ${BEFORE} WHERE valid_to IS NOT NULL`,
  'versions_do_not_overlap sample_sources_history': `UPDATE sample_sources_history SET valid_to = ${AFTER} WHERE valid_to IS NOT NULL`,
  'versions_differ surveys_history': `UPDATE surveys_history SET title = 'New', updated_at = (SELECT updated_at FROM surveys WHERE id = 1) WHERE id = 1`,
  'current_row_is_last_in_history survey_progress': 'DELETE FROM survey_progress_history WHERE survey_id = 2',
  'current_row_is_last_in_history surveys': 'DELETE FROM surveys_history WHERE id = 1 AND valid_to IS NULL',
  'current_row_equals_history sample_sources': `UPDATE sample_sources SET sample_size = 3 WHERE survey_id = 2`,
  'current_row_equals_history sample_source_progress':
    'UPDATE sample_source_progress SET interviews_count = 3',
  'rows_are_seen_before_they_change surveys': `UPDATE surveys SET _first_seen_at = ${AFTER}`,
  'history_begins_when_first_seen sample_sources_history':
    'UPDATE sample_sources SET _first_seen_at = _synced_at',
  'surveys_were_listed freshness': 'UPDATE freshness SET listed_at = NULL WHERE survey_id = 2',
  'progress_was_read survey_progress': 'UPDATE freshness SET refreshed_at = NULL WHERE survey_id = 2',
  'read_surveys_have_progress survey_progress': 'DELETE FROM survey_progress WHERE survey_id = 2',
  'read_sources_have_progress sample_source_progress':
    'DELETE FROM sample_source_progress WHERE survey_id = 2',
  'missing_surveys_have_no_rows sample_sources': `UPDATE surveys SET _missing_since = ${AFTER} WHERE id = 2`,
  'sources_read_with_progress freshness': `UPDATE freshness SET source_progress_read_at = ${AFTER} WHERE survey_id = 2`,
  'missing_sources_have_no_progress sample_source_progress': `UPDATE sample_sources SET _missing_since = ${AFTER} WHERE survey_id = 2`,
  'pending_surveys_are_queued _sync.pending_surveys':
    'INSERT INTO _sync.pending_surveys SELECT * FROM surveys WHERE id = 2',
  'pending_surveys_are_stored _sync.pending_surveys':
    'INSERT INTO _sync.pending_surveys SELECT * REPLACE (9 AS id) FROM surveys WHERE id = 2',
  'queued_surveys_are_stored _sync.tasks': `INSERT INTO _sync.tasks BY NAME SELECT 'acme' AS account, 9 AS survey_id, 'changed' AS reason, now() AS enqueued_at, 'run-1' AS enqueued_run_id, 0 AS attempts`,
  'listed_ids_belong_to_a_listing _sync.listed_ids': `INSERT INTO _sync.listed_ids VALUES ('acme', 'full', 1)`,
  'runs_have_ended _sync.runs': `UPDATE _sync.runs SET status = 'running'`,
  'runs_are_numbered _sync.runs': 'UPDATE _sync.runs SET run_number = NULL',
  'exit_code_follows_status _sync.runs': 'UPDATE _sync.runs SET exit_code = 3',
  'requests_are_counted _sync.requests': `INSERT INTO _sync.requests VALUES ('run-1', 'acme', 'listing', 'surveys', 1, 0)`,
  'days_end_after_they_begin survey_progress_by_day': `INSERT INTO survey_progress_by_day BY NAME SELECT account, survey_id, DATE '2026-03-01' AS day, 'UTC' AS time_zone,
    ${AFTER} AS started_after, ${BEFORE} AS started_before, true AS is_final, _first_seen_at, _observed_at FROM survey_progress`,
  'reconstructed_rows_are_before_observed_ones survey_progress_reconstructed': `INSERT INTO survey_progress_reconstructed BY NAME
    SELECT account, survey_id, _first_seen_at AS as_of, DATE '2026-03-01' AS "day", ${AFTER} AS read_at FROM survey_progress`,
  'columns_are_filled survey_progress_periods': `UPDATE survey_progress_history SET observed_at = NULL WHERE survey_id = 2`,
  'periods_end_after_they_begin survey_periods': `UPDATE surveys_history SET valid_to = ${BEFORE} WHERE valid_to IS NOT NULL`,
  'periods_do_not_overlap sample_source_periods': `UPDATE sample_sources_history SET valid_to = ${AFTER} WHERE valid_to IS NOT NULL`,
}

/** Tables lose their NOT NULL in the copy that is broken, as columns of older warehouses have none. */
const LOOSE = 'ALTER TABLE survey_progress_history ALTER COLUMN observed_at DROP NOT NULL'

describe('each rule', () => {
  test.each(Object.entries(BREAKS))('%s is broken by a change', async (name, statement) => {
    const rollback = new Error('rolled back')
    const found = await warehouse.database
      .transaction(async (sql) => {
        if (statement.includes('observed_at = NULL')) await sql.run(LOOSE)
        await sql.run(statement)
        const broken: string[] = []
        for (const { sql: select } of ALL_RULES.filter(({ rule, where }) => `${rule} ${where}` === name))
          broken.push(...(await sql.rows(ANY_ROW, select)).map(({ example }) => example))
        throw Object.assign(rollback, { broken })
      })
      .catch((error: unknown) => {
        if (error === rollback && 'broken' in rollback) return rollback.broken
        throw error
      })
    expect(found, statement).toContainEqual(expect.stringMatching(/=/))
  })

  test('has such a change', () => {
    const broken = new Set(Object.keys(BREAKS).map((name) => name.split(' ')[0]))
    expect([...new Set(ALL_RULES.map(({ rule }) => rule))].filter((rule) => !broken.has(rule))).toEqual([])
  })
})

test('a state of another version is an error, not a problem', async () => {
  await warehouse.run('ALTER TABLE freshness RENAME COLUMN last_error TO former_error')
  await expect(check()).rejects.toThrow(
    /has no column main\.freshness\.last_error: another version of fieldwork-sync published it .*Run fieldwork-sync sync once, then fieldwork-sync verify$/,
  )
  await warehouse.run('ALTER TABLE freshness RENAME COLUMN former_error TO last_error')
})
