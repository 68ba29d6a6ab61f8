/** One endpoint of the API fails for every survey, while the others answer. */
import { describe, expect, test } from 'vitest'
import {
  type Arrival,
  bodyOf,
  type Hook,
  refusing,
  scriptedProgress,
  scriptedSource,
  scriptedSurveys,
} from '../support/api/scripted-api.js'
import { night, openTrial, type Trial } from '../support/command/trial.js'

const surveys = (count: number) => scriptedSurveys(count, {}, 1)

/** The requests of each endpoint. */
const ENDPOINTS = {
  list: ({ path }: Arrival) => path.endsWith('/sample_sources'),
  progress: ({ path, query: search }: Arrival) =>
    path.endsWith('/fieldwork_progress') && !search.has('sample_source_id'),
  ofSource: ({ query: search }: Arrival) => search.has('sample_source_id'),
}

const nightWith = async (trial: Trial, days: number, hook?: Hook) =>
  night(trial, days, hook, await trial.settings({ limits: { attempts: 2, backoff_base: '1ms' } }))

/** Renames every survey and source, and adds an interview: every list and every progress is due. */
const changeAll = (trial: Trial, days: number) => {
  for (const one of trial.api.surveys) {
    one.survey.title = `night ${days}`
    one.survey.updated_at = new Date(Date.UTC(2026, 2, days, 12)).toISOString()
    one.sources = one.sources.map(({ id }) =>
      scriptedSource(id, '2026-01-01T00:00:00Z', { name: `night ${days}` }),
    )
    one.progress = scriptedProgress(10 + days)
  }
}

const stored = async (trial: Trial) => {
  const [row] =
    await trial.rows(`SELECT (SELECT list(DISTINCT regexp_replace(name, '^S.*', 'S')) FROM sample_sources)::VARCHAR AS names,
      (SELECT list(DISTINCT interviews_count ORDER BY interviews_count) FROM survey_progress)::VARCHAR AS counts`)
  return row
}

const BROKEN = [
  ['list', 403, /refused the list of sample sources of all 8 requested surveys/],
  ['progress', 301, /refused the fieldwork progress of all 8 requested surveys/],
  ['progress', 500, /the fieldwork progress of none of the 8 requested surveys/],
  ['ofSource', 400, /refused the fieldwork progress of the sample sources of all 8 requested surveys/],
] as const

describe('an endpoint that answers for no survey ends the run with 4, and the others are read', () => {
  test.concurrent.for(BROKEN)(
    '%s %i: after a healthy night, until it answers again',
    async ([endpoint, status, reason], context) => {
      const trial = await openTrial(context, surveys(8))
      expect(await nightWith(trial, 0)).toMatchObject({ code: 0 })
      changeAll(trial, 1)
      const ended = await nightWith(trial, 1, refusing(trial.api, status, ENDPOINTS[endpoint]))
      expect(ended).toMatchObject({ code: 4, run: { status: 'failed', failing: 8, surveys_failed: 8 } })
      expect(ended.run.reason).toMatch(reason)
      expect(await stored(trial)).toEqual({
        names: endpoint === 'list' ? '[S]' : '[night 1]',
        counts: endpoint === 'progress' ? '[10]' : '[11]',
      })
      expect(await nightWith(trial, 2)).toMatchObject({
        code: 0,
        run: { left_over: 0, surveys_refreshed: 8 },
      })
      expect(await stored(trial)).toEqual({ names: '[night 1]', counts: '[11]' })
    },
  )
})

describe('an endpoint of one survey that fails every night does not hide the progress', () => {
  test.concurrent.for([500, 403])('the list answers %i', async (status, context) => {
    const trial = await openTrial(context, surveys(2))
    expect(await nightWith(trial, 0)).toMatchObject({ code: 0 })
    changeAll(trial, 1)
    for (const days of [1, 2, 3]) {
      for (const one of trial.api.surveys) one.progress = scriptedProgress(10 + days)
      expect(await nightWith(trial, days, refusing(trial.api, status, isOwn('list')))).toMatchObject({
        code: 3,
        run: { failing: 1 },
      })
      expect((await stored(trial))?.counts).toBe(`[${10 + days}]`)
    }
    expect(await trial.rows('SELECT name FROM sample_sources ORDER BY id')).toEqual([
      { name: 'S101' },
      { name: 'night 1' },
    ])
  })
})

/** Sends these answers with one member twice: first this JSON text, then the true one. */
const twice =
  (trial: Trial, matches: (arrival: Arrival) => boolean, name: string, first: string): Hook =>
  (arrival, response) => {
    if (!matches(arrival)) return false
    const text = JSON.stringify(bodyOf(trial.api, arrival))
    response.writeHead(200, { 'content-type': 'application/json', date: trial.api.now.toUTCString() })
    response.end(text.replace(`"${name}":`, `"${name}":${first},"${name}":`))
    return true
  }

describe('an answer in which a name stands twice in one object is not used', () => {
  test.concurrent('the list of surveys: nothing is lost, and the run ends with 4', async (context) => {
    const trial = await openTrial(context, surveys(2))
    expect(await nightWith(trial, 0)).toMatchObject({ code: 0 })
    changeAll(trial, 1)
    const list = ({ path }: Arrival) => path === '/surveys'
    const ended = await nightWith(trial, 1, twice(trial, list, 'surveys', '[]'))
    expect(ended).toMatchObject({ code: 4, run: { status: 'failed', surveys_refreshed: 0 } })
    expect(ended.run.reason).toContain('the name "surveys" stands twice in one object')
    expect(await stored(trial)).toEqual({ names: '[S]', counts: '[10]' })
    expect(await nightWith(trial, 2)).toMatchObject({ code: 0, run: { surveys_refreshed: 2 } })
    expect(await stored(trial)).toEqual({ names: '[night 1]', counts: '[11]' })
  })

  test.concurrent('a progress: the other endpoint is read, and the run ends with 3', async (context) => {
    const trial = await openTrial(context, surveys(2))
    expect(await nightWith(trial, 0)).toMatchObject({ code: 0 })
    changeAll(trial, 1)
    const ended = await nightWith(trial, 1, twice(trial, isOwn('progress'), 'complete', 'null'))
    expect(ended).toMatchObject({ code: 3, run: { failing: 1, surveys_failed: 1 } })
    expect(await stored(trial)).toEqual({ names: '[night 1]', counts: '[10, 11]' })
  })
})

const isOwn = (endpoint: keyof typeof ENDPOINTS) => (arrival: Arrival) =>
  arrival.path.startsWith('/surveys/1/') && ENDPOINTS[endpoint](arrival)
