/** Due dates from a CSV file, by the real command: what is stored, said and published, and that no wrong line costs a night. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/warehouse/connection/database.js'
import { scriptedProgress, scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'

/** A file of due dates that a test rewrites, and the arguments that use it. */
const withFile = async (trial: Trial) => {
  const file = join(await trial.temporary(), 'due dates.csv')
  return {
    file,
    write: (text: string) => writeFile(file, text),
    args: await trial.settings({ deadlines: file }),
  }
}

const STORED =
  'SELECT survey_id, project_id, CAST(due_on AS VARCHAR) AS due_on, note FROM deadlines ORDER BY ALL'

test('each sync replaces the due dates, reports wrong lines, and keeps all if none can be read', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1, { project_id: 'P' }), scriptedSurvey(2)])
  const { file, write, args } = await withFile(trial)
  const missing = await trial.runWarm(['sync', ...args])
  expect([missing.code, trial.api.arrivals.length]).toEqual([2, 0])
  expect(missing.stderr).toContain(`deadlines names the file ${file}, which does not exist`)

  const wrong = [
    '1;;31.12.2026;',
    '2;;2026-03-10;again',
    ...['a', 'b', 'c', 'd'].map((id) => `${id};;2026-03-10;`),
  ]
  const lines = [
    'survey_id;project_id;due_on;note',
    '2;;2026-03-09;"one; two"',
    ';P;2026-04-01;',
    '99;;2026-04-01;',
    ...wrong,
  ]
  await write(`\ufeff${lines.join('\r\n')}\r\n`)
  const first = await trial.runWarm(['sync', ...args])
  expect(first.code).toBe(0)
  expect(first.stderr).toContain('6 lines of the file of due dates cannot be read')
  expect(first.stdout).toContain(`due dates: 3 due dates from ${file}
  1 of a survey or project that the API does not show
  6 lines rejected
  line 5: due_on must be a day as YYYY-MM-DD: write 2026-12-31 instead of 31.12.2026
  line 6: survey 2 has a due date in line 2 already
  line 7: survey_id must be the number of a survey, not "a"
  line 8: survey_id must be the number of a survey, not "b"
  line 9: survey_id must be the number of a survey, not "c"
  and 1 more

published duckdb`)
  const stored = [
    { survey_id: 2, project_id: null, due_on: '2026-03-09', note: 'one; two' },
    { survey_id: 99, project_id: null, due_on: '2026-04-01', note: null },
    { survey_id: null, project_id: 'P', due_on: '2026-04-01', note: null },
  ]
  expect(await trial.rows(STORED)).toEqual(stored)
  const checked = await trial.runWarm(['check', ...args])
  expect(checked).toMatchObject({ code: 2 })
  expect(checked.stdout).toContain(`FAILED  deadlines`)

  // The work database is lost, and the file cannot be read: they come back from what is published.
  await rm(join(trial.warehouse, 'work.duckdb'))
  await write('nothing\n')
  const kept = await trial.sync(args)
  expect(kept).toMatchObject({
    ...{ code: 0, report: { deadlines: { file, stored: 3, unknown: 1, is_kept: true, rejected_lines: 0 } } },
  })
  expect(kept.stderr).toContain('no due date can be read; those of earlier runs are kept')
  expect(await trial.rows(STORED)).toEqual(stored)
  await trial.expectSound()

  // A work database of an earlier build has no such table.
  const work = join(trial.warehouse, 'work.duckdb')
  const earlier = await openDatabase(work)
  await earlier.exclusively((sql) => sql.run('DROP TABLE deadlines'))
  await earlier.close()
  await write(lines.slice(0, 2).join('\n'))
  expect(await trial.sync(args)).toMatchObject({
    code: 0,
    report: { deadlines: { stored: 1, problems: [] } },
  })
  expect(await trial.rows(STORED)).toEqual(stored.slice(0, 1))
  expect(await trial.runWarm(['verify', '--local'])).toMatchObject({ code: 0 })

  expect(await trial.sync()).toMatchObject({ code: 0, report: { deadlines: null } })
  expect(await trial.rows(STORED)).toEqual([])
})

test('a survey that is due three days before its forecast stands first, with what it needs a day', async (context) => {
  const trial = await openTrial(context, [
    scriptedSurvey(1, { status: 'deviating_from_specs' }),
    scriptedSurvey(2, { title: 'Wave 2 DE' }),
    scriptedSurvey(3, { project_id: 'Tracker' }),
  ])
  const { write, args } = await withFile(trial)
  await write('survey_id,project_id,due_on\n2,,2026-03-15\n,Tracker,2026-03-31\n')
  for (const day of [1, 2, 9]) {
    trial.api.now = new Date(Date.UTC(2026, 2, day, 2))
    for (const one of trial.api.surveys)
      one.progress = scriptedProgress(28 * day, { sample_size: 28 * 9 + 246 })
    const formats = ['--publish', day < 9 ? 'duckdb' : 'duckdb,report']
    expect(await trial.runWarm(['sync', ...args, ...formats])).toMatchObject({ code: 0 })
  }
  const late = 'due 15 March, expected 18 March: needs 41 a day, has 28'
  expect(
    await trial.rows('SELECT survey_id, kind, text FROM needs_action ORDER BY urgency, survey_id LIMIT 2'),
  ).toEqual([
    { survey_id: 2, kind: 'late', text: late },
    { survey_id: 1, kind: 'paused', text: 'paused for 8 days' },
  ])
  expect(
    await trial.rows(
      `SELECT survey_id, CAST(due_on AS VARCHAR) AS due_on, deadline, needed_per_day FROM survey_pace WHERE survey_id = 2`,
    ),
  ).toEqual([{ survey_id: 2, due_on: '2026-03-15', deadline: 'late', needed_per_day: 41 }])
  const page = await readFile(join(trial.warehouse, 'report.html'), 'utf8')
  const [, first = ''] = /<ol class="today".*?<li>(.*?)<\/li>/s.exec(page) ?? []
  expect(first).toContain('Wave 2 DE')
  expect(first).toContain(`<span class="chip u0">${late}</span>`)
})
