/** A list may leave surveys or sources out. They are read all the same, the run says so, and many are never marked as missing by one short list. */

import { expect, test } from 'vitest'
import {
  bodyOf,
  type Hook,
  type ScriptedApi,
  scriptedProgress,
  scriptedSurveys,
  sendJson,
} from '../support/api/scripted-api.js'
import { night, openTrial, type Trial } from '../support/command/trial.js'

/** The list shows only the surveys up to `last`, on all of its pages. The addresses of the others answer with `status`. */
const shortList =
  (api: ScriptedApi, last: number, status: 200 | 404 = 200): Hook =>
  (arrival, response) => {
    const surveys = api.surveys.filter(({ survey }) => survey.id <= last)
    const isShort = arrival.path === '/surveys' || status === 404
    const body = bodyOf(isShort ? { ...api, surveys } : api, arrival)
    sendJson(api, response, body === null ? 404 : 200, body ?? {})
    return true
  }

const LEFT_OUT = 'the list leaves out 7 surveys that still answer'

test('surveys that the list leaves out are read in each run until it shows them again, and the run says so', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(12, { status: 'draft' }, 0))
  const { api } = trial
  expect(await night(trial, 0)).toMatchObject({ code: 0 })

  const first = await night(trial, 1, shortList(api, 5), ['--full'])
  expect(first).toMatchObject({ code: 3, run: { reason: LEFT_OUT, surveys_left_out: 7, left_over: 0 } })
  const status = await trial.runWarm(['status'])
  expect(status.stdout).toContain(LEFT_OUT)
  expect(status.stdout).toMatch(/left out of lists, and still read\n.*\n +6 .*\n +7 /)
  const ofSurvey = await trial.runWarm(['status', '--survey', '7'])
  expect(ofSurvey.stdout).toContain('the list leaves it out since 2026-03-02T00:00Z')
  expect(await trial.rows('SELECT id FROM surveys WHERE _missing_since IS NOT NULL')).toEqual([])

  const [twelfth] = api.surveys.slice(-1)
  if (twelfth !== undefined) twelfth.progress = scriptedProgress(77)
  expect(await night(trial, 2, shortList(api, 5))).toMatchObject({ code: 3, run: { reason: LEFT_OUT } })
  expect(await trial.rows('SELECT interviews_count AS n FROM survey_progress WHERE survey_id = 12')).toEqual([
    { n: 77 },
  ])

  expect(await night(trial, 3)).toMatchObject({ code: 0, run: { listing: 'full', surveys_left_out: 0 } })
  expect(await night(trial, 4)).toMatchObject({ code: 0, run: { listing: 'incremental' } })
  await trial.expectSound()
})

/** Lists of sources show only the sources up to `last`. The progress of the others answers with `status`. */
const shortSourceList =
  (api: ScriptedApi, last: number, status: 200 | 404 = 200): Hook =>
  (arrival, response) => {
    const isList = arrival.path.endsWith('/sample_sources')
    const isLeftOut = Number(arrival.query.get('sample_source_id') ?? 0) > last
    if (!isList && !(isLeftOut && status === 404)) return false
    const surveys = api.surveys.map((one) => ({
      ...one,
      sources: one.sources.filter(({ id }) => id <= last),
    }))
    const body = isLeftOut ? null : bodyOf({ ...api, surveys }, arrival)
    sendJson(api, response, body === null ? 404 : 200, body ?? {})
    return true
  }

test('many surveys that vanish at once and answer 404 are missing only when another full listing agrees', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(20, {}, 0))
  const { api } = trial
  const missing = () =>
    trial.rows('SELECT count(*)::INTEGER AS n FROM surveys WHERE _missing_since IS NOT NULL')
  await night(trial, 0)

  const first = await night(trial, 1, shortList(api, 9, 404), ['--full'])
  expect(first).toMatchObject({ code: 3, run: { surveys_unconfirmed: 11, surveys_left_out: 0 } })
  expect(first.run.reason).toContain('11 surveys vanished from the list at once')
  expect(await missing()).toEqual([{ n: 0 }])

  // The list was wrong: nothing stays of it.
  expect(await night(trial, 2)).toMatchObject({ code: 0, run: { listing: 'full' } })
  expect(await missing()).toEqual([{ n: 0 }])

  expect(await night(trial, 3, shortList(api, 9, 404), ['--full'])).toMatchObject({ code: 3 })
  expect(await night(trial, 4, shortList(api, 9, 404))).toMatchObject({ code: 0, run: { listing: 'full' } })
  expect(await missing()).toEqual([{ n: 11 }])
  // Ten are few enough.
  expect(await night(trial, 5, shortList(api, 0, 404), ['--full'])).toMatchObject({ code: 0 })
  expect(await missing()).toEqual([{ n: 20 }])
  await trial.expectSound()
})

/** A survey in fieldwork with this many sources: 1001, 1002 … */
const surveyWith = (sources: number) => {
  const [survey] = scriptedSurveys(1, {}, sources)
  if (survey === undefined) throw new Error('no survey')
  return survey
}

const missingSources = (trial: Trial) =>
  trial.rows('SELECT count(*)::INTEGER AS n FROM sample_sources WHERE _missing_since IS NOT NULL')

test('sources that the list of a survey leaves out are read with it until it shows them again, and the run says so', async (context) => {
  const survey = surveyWith(5)
  const last = Number(survey.sources[2]?.id)
  const leftOut = Number(survey.sources[4]?.id)
  const trial = await openTrial(context, [survey])
  const { api } = trial
  expect(await night(trial, 0)).toMatchObject({ code: 0 })

  const LEFT_OUT_SOURCES = `the list of sources of survey ${survey.survey.id} leaves out 2 sources that still answer`
  const short = shortSourceList(api, last)
  // A row that changes without its progress makes a run list the sources.
  for (const [day, count] of [
    [1, 41],
    [2, 42],
  ] as const) {
    survey.survey.updated_at = api.now.toISOString()
    survey.survey.title = `Survey ${day}`
    survey.sourceProgress[leftOut] = scriptedProgress(count)
    const ended = await night(trial, day, short)
    expect(ended).toMatchObject({ code: 3, run: { reason: LEFT_OUT_SOURCES, sources_left_out: 2 } })
    expect(await missingSources(trial)).toEqual([{ n: 0 }])
    expect(
      await trial.rows(
        `SELECT interviews_count AS n FROM sample_source_progress WHERE sample_source_id = ${leftOut}`,
      ),
    ).toEqual([{ n: count }])
  }
  const status = await trial.runWarm(['status'])
  expect(status.stdout).toMatch(/^PARTIAL .*: the list of sources of survey 1 leaves out 2/)
  expect(status.stdout).toMatch(/left out of lists, and still read\n.*\n +1 +2\n/)
  const ofSurvey = await trial.runWarm(['status', '--survey', String(survey.survey.id)])
  expect(ofSurvey.stdout).toContain('its list leaves out 2 sources that still answer')

  expect(await night(trial, 3)).toMatchObject({ code: 0, run: { sources_left_out: 0 } })
  // One that has gone is not found.
  survey.sources.pop()
  survey.survey.updated_at = api.now.toISOString()
  survey.survey.title = 'Without a source'
  expect(await night(trial, 4, shortSourceList(api, leftOut - 1, 404))).toMatchObject({ code: 0 })
  expect(await missingSources(trial)).toEqual([{ n: 1 }])
  await trial.expectSound()
})

test('verify compares a source that its list leaves out, and it excuses no difference of its survey', async (context) => {
  const survey = surveyWith(3)
  for (const { id } of survey.sources) survey.sourceProgress[id] = scriptedProgress(10)
  const trial = await openTrial(context, [survey])
  const { api } = trial
  expect(await night(trial, 0)).toMatchObject({ code: 0 })
  api.now = new Date(Date.UTC(2026, 2, 2))
  const last = Number(survey.sources[1]?.id)
  const leftOut = Number(survey.sources[2]?.id)
  const none: Hook = ({ query }, response) => {
    if (!(query.get('started_before') ?? '').startsWith('1970')) return false
    sendJson(api, response, 200, { fieldwork_progress: scriptedProgress(0) })
    return true
  }
  const verifyIn = async (hook: Hook) => {
    api.hook = async (...given) => (await none(...given)) || (await hook(...given))
    const { code, stdout } = await trial.runWarm(['verify', '--json'])
    const found: { table: string; sample_source_id: number | null; verdict: string; why: string }[] =
      JSON.parse(stdout).sample.accounts[0].findings
    const verdicts = found.map((one) => `${one.table} ${one.sample_source_id ?? ''} ${one.verdict}`)
    return { code, verdicts }
  }
  const short = shortSourceList(api, last)
  const unclear = `sample_sources ${leftOut} unclear`
  expect(await verifyIn(short)).toEqual({ code: 0, verdicts: [unclear] })
  // More interviews than were read, all of long before: for a source as for its survey, no change explains it.
  survey.progress = { ...survey.progress, ...scriptedProgress(30) }
  const survey30 = 'survey_progress  wrong'
  expect(await verifyIn(short)).toEqual({ code: 5, verdicts: [unclear, survey30] })
  survey.sourceProgress[leftOut] = scriptedProgress(40)
  const source40 = `sample_source_progress ${leftOut} wrong`
  expect(await verifyIn(short)).toEqual({ code: 5, verdicts: [unclear, survey30, source40] })
  // A source that has really gone took its interviews with it.
  const gone = await verifyIn(shortSourceList(api, last, 404))
  expect(gone).toEqual({
    code: 0,
    verdicts: [`sample_sources ${leftOut} moved`, 'survey_progress  moved'],
  })
})

test('many sources that vanish at once and answer 404 are missing only when another list of the survey agrees', async (context) => {
  const survey = surveyWith(20)
  const last = Number(survey.sources[8]?.id)
  const trial = await openTrial(context, [survey])
  const { api } = trial
  const changed = (title: string) =>
    Object.assign(survey.survey, { title, updated_at: api.now.toISOString() })
  await night(trial, 0)

  changed('one')
  const first = await night(trial, 1, shortSourceList(api, last, 404))
  expect(first).toMatchObject({ code: 3, run: { sources_left_out: 0, left_over: 1 } })
  expect(first.stderr).toContain('11 sources of survey')
  expect(await missingSources(trial)).toEqual([{ n: 0 }])

  // The list was wrong: nothing stays of it.
  expect(await night(trial, 2)).toMatchObject({ code: 0 })
  expect(await missingSources(trial)).toEqual([{ n: 0 }])

  changed('three')
  expect(await night(trial, 3, shortSourceList(api, last, 404))).toMatchObject({ code: 3 })
  expect(await night(trial, 4, shortSourceList(api, last, 404))).toMatchObject({ code: 0 })
  expect(await missingSources(trial)).toEqual([{ n: 11 }])
  await trial.expectSound()
})
