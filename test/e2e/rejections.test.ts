/** Rows that differ from the API document are stored, counted and reported, and do not hold up other rows. */
import { expect, test } from 'vitest'
import {
  bodyOf,
  type Json,
  type ScriptedApi,
  scriptedProgress,
  scriptedSurvey,
  scriptedSurveys,
} from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'

/** A placeholder in a script for an integer that no JavaScript number can hold. */
const PAST_2_53 = '<past 2^53>'
const DIGITS = '9007199254740993'

/** Answers as scripted, with the long integer in place of the placeholder. */
const answerLongIntegers = (api: ScriptedApi): void => {
  api.hook = (arrival, response) => {
    const body = bodyOf(api, arrival)
    if (body === null) return false
    response.writeHead(200, { 'content-type': 'application/json', date: api.now.toUTCString() })
    response.end(JSON.stringify(body).replaceAll(`"${PAST_2_53}"`, DIGITS))
    return true
  }
}

const without = (object: Json, field: string): Json => {
  const { [field]: _, ...rest } = object
  return rest
}

/** Three good surveys, three whose row cannot be typed, and three with a source or progress that cannot be typed. */
const startWithDataProblems = async (context: Parameters<typeof openTrial>[0]) => {
  const trial = await openTrial(context, scriptedSurveys(9, {}, 1))
  const [, , , text, noId, long, source, whole, ofSource] = trial.api.surveys
  Object.assign(text?.survey ?? {}, { respondent_questions_count: '12' })
  Object.assign(noId?.survey ?? {}, { id: undefined })
  Object.assign(long?.survey ?? {}, { owner_organization_id: PAST_2_53 })
  Object.assign(source?.sources[0] ?? {}, { sample_size: 'many' })
  Object.assign(whole ?? {}, {
    progress: scriptedProgress(10, { drop_out_rate: '0.5' }),
    sourceProgress: { 801: scriptedProgress(10) },
  })
  Object.assign(ofSource ?? {}, {
    sourceProgress: { 901: scriptedProgress(10, { interviews_count: PAST_2_53 }) },
  })
  answerLongIntegers(trial.api)
  return trial
}

test('a run with rows that cannot be typed quarantines them unchanged, publishes all others, and exits 5', async (context) => {
  const { api, sync, settings, rows, expectSound } = await startWithDataProblems(context)
  const first = await sync()
  expect(first).toMatchObject({
    code: 5,
    report: { status: 'failed', published: [{ format: 'duckdb' }] },
    run: { rejected_rows: 6, left_over: 0, cursor_after: '2026-02-28T23:55:00Z' },
  })
  expect(first.run.reason).toContain('6 rows could not be typed')

  const rejected = await rows(
    `SELECT endpoint, survey_id, sample_source_id, problem, raw::VARCHAR AS raw FROM _sync.rejected_rows
      ORDER BY endpoint DESC, survey_id NULLS FIRST, sample_source_id NULLS FIRST`,
  )
  expect(rejected.map(({ raw: _, ...row }) => Object.values(row))).toEqual([
    ['surveys', null, null, 'id: is missing'],
    ['surveys', 4, null, 'respondent_questions_count: expected an integer of at most 2^53 - 1, got "12"'],
    ['surveys', 6, null, `owner_organization_id: expected an integer of at most 2^53 - 1, got ${DIGITS}`],
    ['sample_sources', 7, 701, 'sample_size: expected an integer of at most 2^53 - 1, got "many"'],
    ['fieldwork_progress', 8, null, expect.stringContaining('drop_out_rate')],
    [
      'fieldwork_progress',
      9,
      901,
      `interviews_count: expected an integer of at most 2^53 - 1, got ${DIGITS}`,
    ],
  ])
  expect(rejected[2]?.raw).toBe(JSON.stringify(api.surveys[5]?.survey).replace(`"${PAST_2_53}"`, DIGITS))
  expect(rejected[5]?.raw).toContain(`"interviews_count":${DIGITS},`)

  const ids = async (table: string, column: string) =>
    (await rows(`SELECT ${column} AS id FROM ${table} ORDER BY 1`)).map(({ id }) => id)
  expect(await ids('surveys', 'id')).toEqual([1, 2, 3, 7, 8, 9])
  expect(await ids('sample_sources', 'id')).toEqual([101, 201, 301, 801, 901])
  expect(await ids('survey_progress', 'survey_id')).toEqual([1, 2, 3, 7, 9])
  expect(await ids('sample_source_progress', 'sample_source_id')).toEqual([101, 201, 301, 801])
  expect(await rows('SELECT status, exit_code, rejected_rows FROM _sync.runs')).toEqual([
    { status: 'failed', exit_code: 5, rejected_rows: 6 },
  ])

  // With a limit of six, the same rows are no failure, but are still counted.
  const args = await settings({ limits: { rejected_rows_max: 6 } })
  const second = await sync([...args, '--full'])
  expect(second).toMatchObject({ code: 0, run: { status: 'complete', rejected_rows: 6 } })

  // The API corrects its rows, which enter the tables. The rejected rows stay on record.
  const corrected = scriptedSurvey(6, { updated_at: '2026-03-01T01:00:00Z' }, 1)
  api.surveys.splice(5, 1, corrected)
  api.surveys.splice(3, 2)
  const [, , , source, progress, ofSource] = api.surveys.filter(({ survey }) => survey !== corrected.survey)
  Object.assign(source?.sources[0] ?? {}, { sample_size: 100 })
  Object.assign(progress ?? {}, { progress: scriptedProgress(10) })
  Object.assign(ofSource ?? {}, { sourceProgress: {} })
  api.now = new Date('2026-03-02T00:00:00Z')
  expect(await sync()).toMatchObject({ code: 0, run: { rejected_rows: 0 } })
  const whole =
    await rows(`SELECT (SELECT count(*) FROM surveys) AS surveys, (SELECT count(*) FROM sample_sources) AS sources,
      (SELECT count(*) FROM survey_progress) AS progress, (SELECT count(*) FROM sample_source_progress) AS each,
      (SELECT count(*) FROM _sync.rejected_rows) AS rejected`)
  expect(whole).toEqual([{ surveys: 7, sources: 7, progress: 7, each: 7, rejected: 12 }])
  await expectSound()
})

test('a run stores and reports unknown fields, values and statuses, accepts missing rates, and fails with contract: freeze', async (context) => {
  const counts = scriptedProgress(3).interview_count_by_status
  const unknownStatus = scriptedProgress(3, {
    interview_count_by_status: { ...Object(counts), abandoned: { individuals: 4, percentage: 57.1 } },
  })
  const noRates = {
    completion_rate: null,
    questionnaire_incidence_rate: null,
    target_incidence_rate: null,
    drop_out_rate: null,
    length_of_interview: null,
  }
  const noInterviews = scriptedProgress(0, noRates)
  const { api, sync, settings, rows, expectSound } = await openTrial(context, [
    scriptedSurvey(1, { priority: 'high', tags: { b: 1, a: [2] } }, 0),
    scriptedSurvey(2, { status: 'archived' }, 0),
    { ...scriptedSurvey(3, {}, 1), progress: unknownStatus },
    { ...scriptedSurvey(4, {}, 0), progress: without(noInterviews, 'incidence_rate') },
  ])
  const first = await sync()
  expect(first).toMatchObject({ code: 0, run: { status: 'complete', rejected_rows: 0, drift_events: 4 } })

  expect(await rows('SELECT id, status, _extra::VARCHAR AS extra FROM surveys ORDER BY id')).toEqual([
    { id: 1, status: 'fieldwork', extra: '{"priority":"high","tags":{"a":[2],"b":1}}' },
    { id: 2, status: 'archived', extra: null },
    { id: 3, status: 'fieldwork', extra: null },
    { id: 4, status: 'fieldwork', extra: null },
  ])
  expect(
    await rows(
      'SELECT resource, path, value, kind, occurrences FROM _sync.drift_events ORDER BY resource, path',
    ),
  ).toEqual([
    {
      resource: 'fieldwork_progress',
      path: 'interview_count_by_status.abandoned',
      value: null,
      kind: 'unknown_field',
      occurrences: 2,
    },
    { resource: 'survey', path: 'priority', value: null, kind: 'unknown_field', occurrences: 1 },
    { resource: 'survey', path: 'status', value: 'archived', kind: 'unknown_value', occurrences: 1 },
    { resource: 'survey', path: 'tags', value: null, kind: 'unknown_field', occurrences: 1 },
  ])
  expect(
    await rows(
      `SELECT survey_id, sample_source_id, status, individuals, percentage FROM interview_status_counts
        WHERE individuals > 0 AND survey_id = 3 ORDER BY sample_source_id NULLS FIRST, status`,
    ),
  ).toEqual(
    [null, 301].flatMap((sample_source_id) => [
      { survey_id: 3, sample_source_id, status: 'abandoned', individuals: 4, percentage: 57.1 },
      { survey_id: 3, sample_source_id, status: 'complete', individuals: 3, percentage: 100 },
    ]),
  )
  expect(
    await rows(`SELECT interviews_count, completion_rate, questionnaire_incidence_rate, target_incidence_rate,
      incidence_rate, drop_out_rate, length_of_interview FROM survey_progress WHERE survey_id = 4`),
  ).toEqual([{ interviews_count: 0, ...noRates, incidence_rate: null }])

  // A day later nothing has changed, but a survey of unknown status counts as active and is read again.
  api.now = new Date('2026-03-02T00:00:00Z')
  api.arrivals.length = 0
  const args = await settings({ contract: 'freeze' })
  const stopped = await sync(args)
  expect(api.arrivals.map(({ path }) => path)).toContain('/surveys/2/fieldwork_progress')
  expect(stopped).toMatchObject({
    code: 5,
    run: {
      status: 'failed',
      surveys_refreshed: 4,
      drift_events: 1,
      left_over: 0,
      cursor_after: '2026-03-01T23:55:00Z',
    },
  })
  expect(stopped.run.reason).toContain('contract: freeze')
  expect(await rows('SELECT DISTINCT refreshed_at FROM freshness')).toEqual([
    { refreshed_at: '2026-03-02T00:00:00Z' },
  ])
  await expectSound()
})
