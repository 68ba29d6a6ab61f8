/** The plan from a CSV file, by the real command: what is stored, said and published, and that no wrong line costs a night. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/warehouse/connection/database.js'
import { scriptedProgress, scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'

/** A plan that a test rewrites, and the arguments that use it. */
const withFile = async (trial: Trial) => {
  const file = join(await trial.temporary(), 'the plan.csv')
  return {
    file,
    write: (text: string) => writeFile(file, text),
    args: await trial.settings({ plan: file }),
  }
}

/** The line about the plan, with two spaces between its parts. */
const checkOf = (stdout: string): string | undefined =>
  /^(?:ok {4}|FAILED) {2}plan .*$/m.exec(stdout)?.[0].replace(/plan +/, 'plan  ')

/** Makes the tables of a file as they were in schema version 6. */
const asVersion6 = async (file: string) => {
  const database = await openDatabase(file)
  const statements = ['ALTER TABLE plan RENAME TO deadlines', 'UPDATE _sync.schema_version SET version = 6']
  for (const statement of statements) await database.exclusively((sql) => sql.run(statement))
  await database.close()
}

const STORED = 'SELECT survey_id, project_id, CAST(due_on AS VARCHAR) AS due_on, note FROM plan ORDER BY ALL'

test('each sync replaces the plan, reports wrong lines, and keeps all if none can be read', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1, { project_id: 'P' }), scriptedSurvey(2)])
  const { file, write, args } = await withFile(trial)
  const missing = await trial.runWarm(['sync', ...args])
  expect([missing.code, trial.api.arrivals.length]).toEqual([2, 0])
  expect(missing.stderr).toContain(`plan names the file ${file}, which does not exist`)

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
  expect(first.stderr).toContain('6 lines of the plan cannot be read')
  expect(first.stdout).toContain(`plan: 3 lines from ${file}
  1 about what the API does not show
  6 lines rejected
  line 5: due_on must be a day as YYYY-MM-DD: write 2026-12-31, not "31.12.2026"
  line 6: survey 2 is in line 2 already
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
  const problems = [
    'line 5: due_on must be a day as YYYY-MM-DD: write 2026-12-31, not "31.12.2026"',
    'line 6: survey 2 is in line 2 already',
    ...['a', 'b', 'c'].map(
      (id, place) => `line ${7 + place}: survey_id must be the number of a survey, not "${id}"`,
    ),
  ]
  expect(checkOf(checked.stdout)).toBe(
    `FAILED  plan  ${file} has 3 lines; the API does not show survey 99 (line 4); 6 lines cannot be read, and runs work without: ${problems.join('; ')}; and 1 more`,
  )

  // The work database is lost, and the file cannot be read: they come back from what is published.
  await rm(join(trial.warehouse, 'work.duckdb'))
  await write('nothing\n')
  expect(checkOf((await trial.runWarm(['check', ...args])).stdout)).toMatch(
    /^FAILED {2}plan {2}.*\.csv cannot be read: line 1: there is no column survey_id, .* and due_on; runs keep the plan of earlier runs$/,
  )
  const kept = await trial.sync(args)
  expect(kept).toMatchObject({
    ...{ code: 0, report: { plan: { file, stored: 3, unknown: 1, is_kept: true, rejected_lines: 0 } } },
  })
  expect(kept.stderr).toContain('no line of the plan can be read; those of earlier runs are kept')
  expect(await trial.rows(STORED)).toEqual(stored)
  await trial.expectSound()

  // Work database and published file of an earlier build have another table.
  await Promise.all(
    ['work.duckdb', 'fieldwork.duckdb'].map((name) => asVersion6(join(trial.warehouse, name))),
  )
  await write(lines.slice(0, 2).join('\n'))
  expect(await trial.sync(args)).toMatchObject({
    code: 0,
    report: { plan: { stored: 1, problems: [] } },
  })
  expect(await trial.rows(STORED)).toEqual(stored.slice(0, 1))
  expect(await trial.rows("SELECT table_name FROM duckdb_tables() WHERE table_name = 'deadlines'")).toEqual(
    [],
  )
  expect(await trial.runWarm(['verify', '--local'])).toMatchObject({ code: 0 })

  expect(await trial.sync()).toMatchObject({ code: 0, report: { plan: null } })
  expect(await trial.rows(STORED)).toEqual([])
})

test('check and the summary know which lines about sources match nothing', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  const { file, write, args } = await withFile(trial)
  const lines = Array.from({ length: 6 }, (_, place) => `${50 + place};;Panel;1,5;eur;Acme`)
  await write(
    `survey_id;sample_source_id;source;cpi;currency;supplier\n1;101;;4,50;EUR;\n;;*;3;EUR;Acme\n1;201;;9;EUR;\n${lines.join('\n')}`,
  )
  const unread = await trial.runWarm(['check', ...args])
  expect(checkOf(unread.stdout)).toBe(`ok      plan  ${file} has 9 lines`)
  expect(await trial.sync(args)).toMatchObject({ code: 0, report: { plan: { stored: 9, unknown: 7 } } })
  const checked = await trial.runWarm(['check', ...args])
  expect(checked.code).toBe(0)
  const unknown = [50, 51, 52, 53].map((id, place) => `sources "Panel" of survey ${id} (line ${5 + place})`)
  expect(checkOf(checked.stdout)).toBe(
    `ok      plan  ${file} has 9 lines; the API does not show source 201 of survey 1 (line 4), ${unknown.join(', ')}, and 2 more`,
  )
  expect(
    await trial.rows(
      'SELECT survey_id, sample_source_id, source, cpi, currency, supplier FROM plan WHERE line < 4 ORDER BY line',
    ),
  ).toEqual([
    { survey_id: 1, sample_source_id: 101, source: null, cpi: 4.5, currency: 'EUR', supplier: null },
    { survey_id: null, sample_source_id: null, source: '*', cpi: 3, currency: 'EUR', supplier: 'Acme' },
  ])
})

test('a survey that is due two days before its forecast stands first, with what it needs a day', async (context) => {
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
  const late = 'due 15 March, expected 17 March: needs 35.2 a day, has 28'
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
  ).toEqual([{ survey_id: 2, due_on: '2026-03-15', deadline: 'late', needed_per_day: 246 / 7 }])
  const page = await readFile(join(trial.warehouse, 'report.html'), 'utf8')
  const [, first = ''] = /<ol class="today".*?<li>(.*?)<\/li>/s.exec(page) ?? []
  expect(first).toContain('Wave 2 DE')
  expect(first).toContain(`<span class="chip u0">${late}</span>`)
})

test('what comes in stands beside what was sold: in survey_pace, the query as-sold and the report', async (context) => {
  const [sold, other] = [scriptedSurvey(1, { status: 'pending' }), scriptedSurvey(2)]
  const trial = await openTrial(context, [sold, other])
  const { write, args } = await withFile(trial)
  await write(
    [
      'survey_id;source;due_on;incidence;loi_minutes;cpi;currency;supplier',
      '1;;2026-03-20;45%;10;4,50;EUR;',
      ';S101;;;;3,80;EUR;Panel North',
    ].join('\n'),
  )
  // The job at 02:00 on the second is the first one that finds it in fieldwork, on the day before.
  for (let night = 1; night <= 10; night += 1) {
    trial.api.now = new Date(Date.UTC(2026, 2, night, 2))
    const updated_at = new Date(Date.UTC(2026, 2, night, 1)).toISOString()
    if (night === 2) sold.survey = { ...sold.survey, status: 'fieldwork', updated_at }
    const complete = 8 * (night - 1)
    const screened = night <= 4 ? complete : 24 + 32 * (night - 4)
    const { interview_count_by_status: all, ...progress } = scriptedProgress(complete, {
      target_incidence_rate: complete === 0 ? null : complete / (complete + screened),
      length_of_interview: 840,
    })
    const screen_out = { individuals: screened, percentage: 50 }
    sold.progress = { ...progress, interview_count_by_status: { ...Object(all), screen_out } }
    sold.sourceProgress = {
      101: scriptedProgress((complete * 3) / 4),
      102: scriptedProgress(complete / 4),
    }
    const formats = ['--publish', night < 10 ? 'duckdb' : 'duckdb,report']
    expect(await trial.runWarm(['sync', ...args, ...formats])).toMatchObject({ code: 0 })
  }
  // 9 of 20 days. 54 completes at 3.80, and 18 at 4.50.
  const [row] = await trial.rows(
    'SELECT * REPLACE (CAST(opened_on AS VARCHAR) AS opened_on) FROM survey_pace WHERE survey_id = 1',
  )
  expect(row).toMatchObject({
    ...{ sold_incidence: 0.45, launch_incidence_rate: 24 / 48, target_incidence_rate: 72 / 288 },
    ...{ recent_incidence_rate: 56 / 256, sold_loi_minutes: 10, length_of_interview: 840 },
    ...{ opened_on: '2026-03-01', expected_by_today: 90, interviews_count: 72 },
    ...{ cost: 286.2, cost_at_target: 795, currency: 'EUR' },
  })
  expect(
    (await trial.runWarm(['query', 'as-sold', '--format', 'csv'])).stdout.split('\n').slice(0, 2),
  ).toEqual([
    'account,survey_id,title,sold,incidence,recent,sold_minutes,minutes,expected,interviews,cost,at_target,currency',
    'default,1,Survey 1,0.45,0.25,0.21875,10.0,14.0,90.0,72,286.2,795.0,EUR',
  ])
  const page = (await readFile(join(trial.warehouse, 'report.html'), 'utf8'))
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
  for (const text of [
    'Incidence 25% sold 45%, last 7 days 22%, at launch 50%',
    'Length 14 min sold 10',
    'Cost so far 286 EUR 795 EUR at the target',
    'Expected by today 90 has 72',
    'FR, panel, Panel North, 3.80 EUR a complete',
    'FR, panel, 4.50 EUR a complete',
  ])
    expect(page).toContain(text)
})
