/** Daily windows: every interview counts on exactly one day, and a night does not request days that are already stored. */
import { expect, test } from 'vitest'
import {
  bodyOf,
  type ScriptedApi,
  scriptedProgress,
  scriptedSurvey,
  sendJson,
} from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import type { Row } from '../support/warehouse/duckdb.js'

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

test('a night requests open days and those that become final, in the time zone', async (context) => {
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
  const args = await settings({ time_zone: 'Europe/Paris', refresh: { daily_windows: { days: 2 } } })
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
