/**
 * Daily windows: every interview counts on exactly one day, including one that starts at midnight. A night does not request
 * days that are already stored.
 */
import { expect, test } from 'vitest'
import { INTERVIEW_STATUSES } from '../support/api/api-document.js'
import { asObject, getBody, type JsonObject, startWorld } from '../support/api/reference-api.js'
import {
  bodyOf,
  NO_ACCOUNT,
  type ScriptedApi,
  scriptedProgress,
  scriptedSurvey,
  sendJson,
} from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { progressOf } from '../support/oracle/truth.js'
import { slow } from '../support/suite/slow.js'
import type { Row } from '../support/warehouse/duckdb.js'

const ADDITIVE = ['interviews_count', ...INTERVIEW_STATUSES.map((status) => `${status}_individuals`)]
const sums = ADDITIVE.map((name) => `sum(${name})::BIGINT AS ${name}`).join(', ')
const columns = ADDITIVE.join(', ')

test('the days add up to the whole survey, an interview at midnight counts once, and each day equals the answer of the API', async (context) => {
  const { sync, settings, rows, expectSound } = await openTrial(context)
  await using server = await startWorld({ seed: 35, surveys: 6 })
  const [account] = server.accounts
  const args = await settings({
    accounts: [{ ...account, base_url: server.baseUrl, rate_limit: { requests: 10_000, per: '1s' } }],
    refresh: { daily_windows: { days: 20, sources: true } },
  })
  const { code, run } = await sync(args, NO_ACCOUNT)
  expect(code).toBe(0)
  await expectSound()

  const ofSurveys = await rows(
    `SELECT p.survey_id, ${columns} FROM survey_progress p JOIN surveys s ON s.id = p.survey_id
      WHERE s.status NOT IN ('draft', 'user_demo', 'complete') ORDER BY ALL`,
  )
  expect(ofSurveys.length).toBeGreaterThan(3)
  expect(
    await rows(`SELECT survey_id, ${sums} FROM survey_progress_by_day WHERE sample_source_id IS NULL
      GROUP BY survey_id ORDER BY ALL`),
  ).toEqual(ofSurveys)
  expect(
    await rows(`SELECT survey_id, sample_source_id, ${sums} FROM survey_progress_by_day
      WHERE sample_source_id IS NOT NULL GROUP BY ALL ORDER BY ALL`),
  ).toEqual(
    await rows(`SELECT p.survey_id, p.sample_source_id, ${columns} FROM sample_source_progress p
      JOIN surveys s ON s.id = p.survey_id WHERE s.status NOT IN ('draft', 'user_demo', 'complete') ORDER BY ALL`),
  )

  // In this world, one interview of this survey starts at exactly midnight.
  const survey = 2147483641
  const midnight = '2026-02-17T00:00:00Z'
  const progressBetween = async (from: string, to: string): Promise<JsonObject> =>
    asObject(
      (
        await getBody(
          server,
          `/surveys/${survey}/fieldwork_progress?started_after=${from}&started_before=${to}`,
        )
      ).fieldwork_progress,
    )
  expect((await progressBetween(midnight, midnight)).interviews_count).toBe(1)
  const stored = await rows(
    `SELECT * FROM survey_progress_by_day WHERE survey_id = ${survey} AND sample_source_id IS NULL
      AND day IN ('2026-02-16', '2026-02-17') ORDER BY day`,
  )
  const days = await Promise.all(
    ['2026-02-16', '2026-02-17'].map((day) => progressBetween(`${day}T00:00:00Z`, `${day}T23:59:59Z`)),
  )
  for (const [place, day] of days.entries()) expect(stored[place]).toMatchObject(progressOf(day))
  const both = await progressBetween('2026-02-16T00:00:00Z', '2026-02-17T23:59:59Z')
  expect(Number(stored[0]?.interviews_count) + Number(stored[1]?.interviews_count)).toBe(
    both.interviews_count,
  )
  const overlapping = await progressBetween('2026-02-16T00:00:00Z', midnight)
  expect(overlapping.interviews_count).toBe(Number(stored[0]?.interviews_count) + 1)
  const [{ days: added } = {}] = await rows('SELECT count(*) AS days FROM survey_progress_by_day')
  expect(run.rows_by_table.survey_progress_by_day).toEqual({ added, changed: 0, unchanged: 0 })
})

/** Computes progress from the starts of complete interviews. Both bounds are inclusive, to the microsecond. */
const showInterviews = (api: ScriptedApi, starts: readonly string[]) => {
  const key = (text: string) => {
    const [, second = '', fraction = ''] = /^(.{19})(?:\.(\d+))?Z$/.exec(text) ?? []
    if (second === '') throw new Error(`${text} is not in UTC`)
    return `${second}.${fraction.padEnd(6, '0')}`
  }
  api.hook = (arrival, response) => {
    const body = bodyOf(api, arrival)
    if (!arrival.path.endsWith('/fieldwork_progress') || body === null) return undefined
    const [after, before] = ['started_after', 'started_before'].map((name) => arrival.query.get(name))
    const counted = starts.filter(
      (start) => (!after || key(start) >= key(after)) && (!before || key(start) <= key(before)),
    )
    sendJson(api, response, 200, { fieldwork_progress: scriptedProgress(counted.length) })
    return true
  }
}

const requestedDays = (api: ScriptedApi): string[] =>
  api.arrivals
    .splice(0)
    .map(({ query }) => query.get('started_after'))
    .filter((after) => after !== null)
    .toSorted()

slow('a night requests open days and those that become final, in the time zone', async (context) => {
  const starts = [
    '2026-03-28T22:59:59.999999Z',
    '2026-03-28T23:00:00Z',
    '2026-03-29T21:59:59Z',
    '2026-03-29T21:59:59.999Z',
    '2026-03-29T21:59:59.999999Z',
    '2026-03-29T22:00:00Z',
  ]
  const { api, sync, settings, rows, expectSound } = await openTrial(context, [scriptedSurvey(1)])
  showInterviews(api, starts)
  const args = await settings({ refresh: { daily_windows: { days: 2, time_zone: 'Europe/Paris' } } })
  const night = async (now: string) => {
    api.now = new Date(now)
    const { code, run } = await sync(args)
    expect(code).toBe(0)
    const found = await rows(
      `SELECT day::VARCHAR AS day, interviews_count AS interviews, is_final
        FROM survey_progress_by_day ORDER BY day`,
    )
    return {
      run,
      requested: requestedDays(api),
      rows: found.map(({ day, interviews, is_final }: Row) =>
        [day, interviews, ...(is_final ? ['final'] : [])].join(' '),
      ),
    }
  }

  // The 29th has 23 hours.
  const first = await night('2026-03-29T22:30:00Z')
  expect(first.requested).toEqual(['2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'])
  expect(first.rows).toEqual(['2026-03-29 4', '2026-03-30 1'])
  expect(first.run.rows_by_table.survey_progress_by_day).toEqual({ added: 2, changed: 0, unchanged: 0 })

  const unchanged = await night('2026-03-30T22:30:00Z')
  expect(unchanged).toMatchObject({ requested: [], rows: first.rows })

  starts.push('2026-03-29T10:00:00Z', '2026-03-31T10:00:00Z')
  const changed = await night('2026-03-31T22:30:00Z')
  expect(changed.requested).toEqual([
    '2026-03-28T23:00:00Z',
    '2026-03-29T22:00:00Z',
    '2026-03-30T22:00:00Z',
    '2026-03-31T22:00:00Z',
  ])
  expect(changed.rows).toEqual(['2026-03-29 5 final', '2026-03-30 1 final', '2026-03-31 1', '2026-04-01 0'])

  await expectSound()
})
