/** `accounts[].exclude` keeps surveys from being read. They are listed, nothing says that they are wrong, and they come back whole. */

import { expect, test } from 'vitest'
import { NO_ACCOUNT, scriptedProgress, scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import { night, openTrial, type Trial } from '../support/command/trial.js'

const PROJECT = `P'4 "x"; --`

/** Survey 4 is excluded from the first listing on. All have two sources and no interviews, so their requests are known. */
const openNights = async (context: Parameters<typeof openTrial>[0]) => {
  const statuses = ['fieldwork', 'fieldwork', 'complete', 'fieldwork', 'fieldwork']
  const surveys = statuses.map((status, index) => ({
    ...scriptedSurvey(index + 1, {
      status,
      project_id: index === 3 ? PROJECT : null,
      updated_at: '2026-02-28T12:00:00Z',
    }),
    progress: scriptedProgress(0),
  }))
  const trial = await openTrial(context, surveys)
  const settings = (exclude: object) =>
    trial.settings({
      accounts: [
        {
          base_url: trial.api.baseUrl,
          id: 1,
          token: TOKEN,
          rate_limit: { requests: 1000, per: '1s' },
          exclude,
        },
      ],
    })
  return { trial, settings, first: await settings({ projects: [PROJECT] }) }
}

const at = (one: Trial, days: number, args: readonly string[]) =>
  night(one, days, undefined, args, NO_ACCOUNT)

const RULES = { surveys: [2, 999], status: ['complete'], projects: [PROJECT] }

const asked = ({ api }: Trial) =>
  [...new Set(api.arrivals.flatMap(({ path }) => /^\/surveys\/(\d+)/.exec(path)?.[1] ?? []))]
    .toSorted()
    .join(' ')

test('excluded surveys are listed and not read, and come back whole', async (context) => {
  const { trial, settings, first } = await openNights(context)
  const { api } = trial
  const run = (...args: readonly string[]) => trial.runWarm(args, NO_ACCOUNT)
  expect(await at(trial, 0, first)).toMatchObject({ code: 0, run: { left_over: 0 } })
  expect(asked(trial)).toBe('1 2 3 5')

  const rules = await settings(RULES)
  const second = await at(trial, 0.5, rules)
  expect(second).toMatchObject({ code: 0, run: { status: 'complete', left_over: 0 } })
  expect(second.stderr).toContain('"names":["survey 999"]')
  expect(second.stderr.split('names what the API does not show')).toHaveLength(2)
  expect((await run('check', ...rules)).stdout).toContain(
    'exclude of default  3 surveys and projects; the API does not show survey 999\n',
  )
  expect(asked(trial)).toBe('1 5')
  expect(
    await trial.rows('SELECT survey_id::INTEGER AS id, excluded_by AS by FROM freshness ORDER BY id'),
  ).toEqual([
    { id: 1, by: null },
    { id: 2, by: 'id' },
    { id: 3, by: 'status' },
    { id: 4, by: 'project' },
    { id: 5, by: null },
  ])

  // Meanwhile 2 and 4 change, and 5 gets an excluded status, with which it is read once more.
  const change = (id: number, row: object, interviews: number) => {
    const one = api.surveys.find(({ survey }) => survey.id === id)
    if (one === undefined) throw new Error(`no survey ${id}`)
    Object.assign(one.survey, { updated_at: '2026-03-03T00:00:00Z', ...row })
    one.progress = scriptedProgress(interviews)
    one.sourceProgress = { [id * 100 + 1]: scriptedProgress(interviews), [id * 100 + 2]: scriptedProgress(0) }
  }
  change(2, { title: 'changed while excluded' }, 7)
  change(4, { title: 'changed, never read' }, 8)
  change(5, { status: 'complete' }, 9)
  expect(await at(trial, 3, [...rules, '--full'])).toMatchObject({
    code: 0,
    run: { listing: 'full', left_over: 0 },
  })
  expect(asked(trial)).toBe('1 5')
  expect(await at(trial, 4, rules)).toMatchObject({ code: 0 })
  expect(asked(trial)).toBe('1')
  expect(
    await trial.rows(`SELECT (SELECT count(*) FROM surveys WHERE _missing_since IS NOT NULL)::INTEGER AS missing,
      (SELECT count(*) FROM needs_action WHERE kind = 'stale')::INTEGER AS stale, (SELECT string_agg(survey_id, ' ' ORDER BY survey_id) FROM freshness WHERE excluded_by IS NOT NULL) AS excluded`),
  ).toEqual([{ missing: 0, stale: 0, excluded: '2 3 4 5' }])
  const explained = (await run('status', '--survey', '2', ...rules)).stdout
  expect(explained).toContain('- the settings exclude it by its id (accounts[].exclude), so its progress is')
  expect(explained).not.toContain('it waits in the queue')
  expect(await run('verify', '--sample', '9', ...rules)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('1 of 1'),
  })

  // Without rules all come back, as the API has them now.
  expect(await at(trial, 5, await settings({}))).toMatchObject({ code: 0, run: { left_over: 0 } })
  expect(
    await trial.rows(`SELECT s.id::INTEGER AS id, title, p.interviews_count::INTEGER AS n, count(q.sample_source_id)::INTEGER AS sources, f.excluded_by AS by
      FROM surveys s JOIN survey_progress p ON p.survey_id = s.id JOIN freshness f ON f.survey_id = s.id
      JOIN sample_source_progress q ON q.survey_id = s.id WHERE s.id IN (2, 4) GROUP BY ALL ORDER BY ALL`),
  ).toEqual([
    { id: 2, title: 'changed while excluded', n: 7, sources: 2, by: null },
    { id: 4, title: 'changed, never read', n: 8, sources: 2, by: null },
  ])
  await trial.expectSound()
})

test('a rule saves what plan says, against the same night without it', async (context) => {
  const [nights, twin] = [await openNights(context), await openNights(context)]
  for (const { trial, first } of [nights, twin]) expect(await at(trial, 0, first)).toMatchObject({ code: 0 })
  const { trial } = nights
  const run = (...args: readonly string[]) => trial.runWarm(args, NO_ACCOUNT)
  const rules = await nights.settings(RULES)
  expect((await run('plan', ...rules)).stdout).toContain('excluded: 3 surveys, which would take 10 requests')
  const plan = JSON.parse((await run('plan', '--json', ...rules)).stdout).accounts[0]
  expect(plan.excluded).toEqual({
    surveys: 3,
    requests: { sample_sources: 3, survey_progress: 3, sample_source_progress: 4 },
  })
  // Plan counts the sources of active surveys, so their progress has changed, and those of no inactive one.
  for (const { trial } of [nights, twin])
    for (const scripted of trial.api.surveys)
      if (scripted.survey.status === 'fieldwork') scripted.progress = scriptedProgress(1)
  const ended = await at(trial, 1, rules)
  const without = await at(twin.trial, 1, await twin.settings({}))
  expect(without.run.requests - ended.run.requests).toBe(10)
  expect(
    await trial.rows(`SELECT sum(saved)::INTEGER AS saved FROM _sync.requests
      WHERE reason = 'excluded' AND run_id = '${ended.run.run_id}'`),
  ).toEqual([{ saved: 10 }])
  expect(await run('status', '--check', '--max-age', '30d', ...rules)).toMatchObject({ code: 0 })
  expect((await run('status', ...rules)).stdout).toMatch(/freshness\n.*excluded\n.* 3\n/)
})
